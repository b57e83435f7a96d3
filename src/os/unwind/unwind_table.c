/* SPDX-License-Identifier: MIT */
/*
 * os/unwind/unwind_table.c - the entry of .eh_frame for a code address
 *
 * Data:       program_frames: .eh_frame of a program without a sorted table; found once.
 * Invariants: tables of loaded objects are believed as far as their linker made them: no entry is
 *             read beyond its own length.
 * Locks:      none; program_frames is found again by each thread that comes too early.
 * Flow:       address -> object -> .eh_frame_hdr's sorted table -> FDE -> its CIE.
 *
 * Linkers make no sorted table for static programs. Their .eh_frame is searched from the beginning;
 * where it lies only the section headers in the file say.
 */
#include "arch/unwind.h"
#include "base/atomic.h"
#include "os/symbol/elf.h"
#include "os/symbol/object.h"
#include "os/sys.h"
#include "os/unwind/unwind_table.h"

/* Encodings of pointers: format in the low bits, what they are relative to in the others. */
#define PE_ABSOLUTE 0x00
#define PE_UDATA4 0x03
#define PE_SDATA4 0x0b
#define PE_PCREL 0x10
#define PE_TABLE 0x3b /* relative to .eh_frame_hdr, sdata4: what every linker writes */
#define PE_SIZE 0x07
#define PE_OMIT 0xff

#define REACH (1ul << 31) /* of the offsets in a sorted table */
/* Bytes; no function has a longer entry, and bytes that are none may say so. */
#define ENTRY_MAX (1ul << 20)
#define AUGMENTATION_MAX 8 /* of an augmentation, with the NUL */

struct frames {
	const uint8_t *start;
	const uint8_t *end;
};

static struct frames program_frames; /* start: 1 there are none; NULL not looked for */

/* ---- CIE and FDE ----------------------------------------------------------------------------- */

static size_t encoded_size(unsigned int encoding)
{
	static const uint8_t size[] = { 8, 0, 2, 4, 8, 0, 0, 0 }; /* absptr, uleb, 2, 4, 8 */

	return size[encoding & PE_SIZE];
}

/* What is within reach of the place. */
static struct bytes bytes_from(const uint8_t *at, bool *gone)
{
	return (struct bytes){ at, at + REACH, false, gone };
}

/* An entry without its length; false: the end mark, or one that is too long. */
static bool open_entry(struct bytes whole, struct bytes *b)
{
	uint32_t length = (uint32_t)take(&whole, 4);

	*b = take_block(&whole, length);
	return !whole.cut && length > 4 && length < ENTRY_MAX;
}

/* What the augmentation announces; false: a character that is not known. */
static bool read_augmentation(const char *text, struct bytes *data, struct unwind_cie *cie)
{
	for (; *text; text++)
		switch (*text) {
		case 'R':
			cie->encoding = (unsigned int)take(data, 1);
			break;
		case 'P':
			take(data, encoded_size((unsigned int)take(data, 1)));
			break;
		case 'L':
			take(data, 1);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		default:
			return false;
		}
	return !data->cut && encoded_size(cie->encoding);
}

static bool take_augmentation(struct bytes *b, char text[AUGMENTATION_MAX])
{
	for (unsigned int i = 0; i < AUGMENTATION_MAX; i++) {
		text[i] = (char)take(b, 1);
		if (!text[i])
			return !b->cut;
	}
	return false;
}

static bool read_cie(struct bytes from, struct unwind_cie *cie)
{
	char text[AUGMENTATION_MAX];
	unsigned int version, ra;
	struct bytes b, data;

	if (!open_entry(from, &b) || take(&b, 4) != 0)
		return false;
	version = (unsigned int)take(&b, 1);
	if (!take_augmentation(&b, text) || (version != 1 && version != 3))
		return false;
	*cie = (struct unwind_cie){ .encoding = PE_ABSOLUTE, .has_data = text[0] == 'z' };
	cie->code_align = take_uleb(&b);
	cie->data_align = take_sleb(&b);
	ra = version == 1 ? (unsigned int)take(&b, 1) : take_uleb(&b);
	if (cie->has_data) {
		data = take_block(&b, take_leb(&b, false));
		if (!read_augmentation(text + 1, &data, cie))
			return false;
	}
	cie->instructions = b;
	return !b.cut && ra == ARCH_CFI_RA && (cie->has_data || !text[0]);
}

/*
 * The first address of an FDE's function; at: where it is written. 0: in a way that is not known.
 */
static uintptr_t read_start(struct bytes *b, unsigned int encoding)
{
	const uint8_t *at = b->at;
	uint64_t value = take(b, encoded_size(encoding));

	if (encoded_size(encoding) == 4 && encoding & (PE_SDATA4 & ~PE_UDATA4))
		value = (uint64_t)(int32_t)value;
	if ((encoding & ~0xfu) == PE_PCREL)
		return (uintptr_t)at + value;
	return encoding & ~0xfu ? 0 : value;
}

/* The FDE behind its length, if its function has the address. */
static bool read_fde(struct bytes b, uintptr_t address, struct unwind_entry *entry)
{
	const uint8_t *field = b.at;
	uint32_t back = (uint32_t)take(&b, 4);
	uint64_t size;

	if (!back || !read_cie(bytes_from(field - back, b.gone), &entry->cie))
		return false;
	entry->function = read_start(&b, entry->cie.encoding);
	size = take(&b, encoded_size(entry->cie.encoding));
	if (!entry->function || address - entry->function >= size)
		return false;
	if (entry->cie.has_data)
		take_block(&b, take_leb(&b, false));
	entry->instructions = b;
	return !b.cut;
}

/* ---- the sorted table ------------------------------------------------------------------------ */

struct table_entry {
	int32_t function; /* both relative to the header */
	int32_t fde;
};

/* The entry of the given number. */
static struct table_entry table_at(struct bytes table, uint64_t number)
{
	struct table_entry entry;

	take_block(&table, number * sizeof(entry));
	entry.function = (int32_t)take(&table, sizeof(entry.function));
	entry.fde = (int32_t)take(&table, sizeof(entry.fde));
	return entry;
}

/* The FDE of the last function that begins at or before the address; NULL: none, or no table. */
static const uint8_t *search_table(const uint8_t *header, uintptr_t address, bool *gone)
{
	struct bytes b = bytes_from(header, gone);
	int64_t wanted = (int64_t)(address - (uintptr_t)header);
	uint32_t format = (uint32_t)take(&b, 4); /* version; encodings of frame, count and table */
	uint64_t low = 0, high;

	if ((format & 0xff) != 1 || (format >> 16 & 0xff) != PE_UDATA4 || format >> 24 != PE_TABLE)
		return NULL;
	take(&b, (format >> 8 & 0xff) == PE_OMIT ? 0 : 4);
	high = take(&b, 4);
	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if (table_at(b, middle).function <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? header + table_at(b, low - 1).fde : NULL;
}

static bool find_sorted(const uint8_t *header, uintptr_t address, bool *gone,
			struct unwind_entry *entry)
{
	const uint8_t *fde = search_table(header, address, gone);
	struct bytes b;

	return fde && open_entry(bytes_from(fde, gone), &b) && read_fde(b, address, entry);
}

/* ---- no sorted table ------------------------------------------------------------------------- */

/* x86-64 has a section type of its own for it, which not every linker uses. */
#define SHT_X86_64_UNWIND 0x70000001

static struct frames find_frames(uintptr_t bias)
{
	struct frames frames = { (const uint8_t *)1, (const uint8_t *)1 };
	const Elf64_Shdr *section;
	struct os_elf elf;

	if (os_elf_open_program(&elf))
		return frames;
	section = os_elf_section(&elf, SHT_PROGBITS, ".eh_frame");
	if (!section)
		section = os_elf_section(&elf, SHT_X86_64_UNWIND, ".eh_frame");
	if (section && section->sh_flags & SHF_ALLOC) {
		frames.start = (const uint8_t *)(bias + section->sh_addr);
		frames.end = frames.start + section->sh_size;
	}
	os_elf_close(&elf);
	return frames;
}

static struct frames load_frames(uintptr_t bias)
{
	struct frames frames;

	frames.start = load_acquire(&program_frames.start);
	frames.end = load_relaxed(&program_frames.end);
	if (!frames.start) {
		frames = find_frames(bias);
		store_relaxed(&program_frames.end, frames.end);
		store_release(&program_frames.start, frames.start);
	}
	return frames;
}

static bool find_unsorted(uintptr_t bias, uintptr_t address, struct unwind_entry *entry)
{
	struct frames frames = load_frames(bias);
	const uint8_t *at = frames.start;
	struct bytes b;

	while (at < frames.end && open_entry((struct bytes){ at, frames.end, false, NULL }, &b)) {
		if (read_fde(b, address, entry))
			return true;
		at = b.end;
	}
	return false;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* The program itself, which nobody unloads. */
static bool find_in_program(const struct os_object *object, uintptr_t address,
			    struct unwind_entry *entry)
{
	struct os_object_file file;

	return os_object_file(object, &file) && !file.path[0] &&
	       find_unsorted(file.bias, address, entry);
}

int unwind_table_find(uintptr_t address, bool *gone, struct unwind_entry *entry)
{
	struct os_object object;
	bool found = false;

	if (!os_object_find(address, &object))
		return -ESRCH;
	if (ARCH_HAS_CFI && object.eh_frame)
		found = find_sorted(object.eh_frame, address, gone, entry);
	else if (ARCH_HAS_CFI)
		found = find_in_program(&object, address, entry);
	return found ? 0 : -ENOENT;
}
