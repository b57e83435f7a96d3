/* SPDX-License-Identifier: MIT */
/*
 * os/time/utc.c - date and time as other programs' logs have them
 *
 * Data:       none.
 * Invariants: see os/time/utc.h.
 * Locks:      none.
 * Flow:       see os/time/utc.h.
 *
 * gmtime_r() may take libc's lock of time zones, and a report may come from a signal handler.
 * Years are counted from March on, so that the day that may be missing is the last one.
 */
#include <time.h>

#include "os/process/say.h"
#include "os/time/utc.h"

#define DAY 86400     /* seconds */
#define ERA_YEARS 400 /* after so many the calendar repeats */
#define ERA_DAYS 146097
#define EPOCH_DAYS 719468 /* from 1 March of year 0 to 1 January 1970 */
#define MARCH 3

struct date {
	int year;
	int month;
	int day;
};

static struct date date_of(int64_t days_since_1970)
{
	int64_t days = days_since_1970 + EPOCH_DAYS;
	int64_t era = (days >= 0 ? days : days - (ERA_DAYS - 1)) / ERA_DAYS;
	int day = (int)(days - era * ERA_DAYS);
	/* leap days of 4, 100 and 400 years taken out */
	int year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	int of_year = day - (365 * year + year / 4 - year / 100);
	int month = (5 * of_year + 2) / 153; /* 0: March; five months have 153 days */

	return (struct date){
		.year = (int)(era * ERA_YEARS) + year + (month >= 10),
		.month = month < 10 ? month + MARCH : month - 9,
		.day = of_year - (153 * month + 2) / 5 + 1,
	};
}

void os_utc_text(char text[OS_UTC_BYTES], int64_t seconds, unsigned int us)
{
	int64_t days = (seconds >= 0 ? seconds : seconds - (DAY - 1)) / DAY;
	int rest = (int)(seconds - days * DAY);
	struct date date = date_of(days);

	os_format(text, OS_UTC_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", date.year, date.month,
		  date.day, rest / 3600, rest / 60 % 60, rest % 60, (int)us);
}

void os_utc_now(char text[OS_UTC_BYTES])
{
	struct timespec now = { 0, 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	os_utc_text(text, now.tv_sec, (unsigned int)(now.tv_nsec / 1000));
}
