/* SPDX-License-Identifier: MIT */
/*
 * rule_list_test.c - kernel code: a list of rules with names, in order, counted and replaced
 */
#define pr_fmt(fmt) "rules: " fmt

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

struct range {
	u32 first;
	u32 last;
};

struct rule {
	struct list_head link;
	struct kref users;
	char *name;
	bool allow;
	unsigned int nr;
	struct range ranges[]; /* nr of them */
};

static LIST_HEAD(rules);
static DEFINE_MUTEX(rules_lock);

static void rule_release(struct kref *kref)
{
	struct rule *rule = container_of(kref, struct rule, users);

	kfree(rule->name);
	kfree(rule);
}

static void rule_put(struct rule *rule)
{
	kref_put(&rule->users, rule_release);
}

static struct rule *rule_new(const char *name, bool allow, const struct range *ranges,
			     unsigned int nr)
{
	struct rule *rule;
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (ranges[i].first > ranges[i].last)
			return ERR_PTR(-EINVAL);

	rule = kzalloc(struct_size(rule, ranges, nr), GFP_KERNEL);
	if (!rule)
		return ERR_PTR(-ENOMEM);
	rule->name = kstrdup(name, GFP_KERNEL);
	if (!rule->name) {
		kfree(rule);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&rule->users);
	rule->allow = allow;
	rule->nr = nr;
	memcpy(rule->ranges, ranges, nr * sizeof(*ranges));
	return rule;
}

static int rule_add(const char *name, bool allow, const struct range *ranges, unsigned int nr)
{
	struct rule *rule = rule_new(name, allow, ranges, nr), *at;

	if (IS_ERR(rule))
		return PTR_ERR(rule);

	mutex_lock(&rules_lock);
	list_for_each_entry(at, &rules, link) {
		if (strcmp(at->name, name) == 0) {
			list_replace_init(&at->link, &rule->link);
			mutex_unlock(&rules_lock);
			rule_put(at);
			return 0;
		}
	}
	list_add_tail(&rule->link, &rules);
	mutex_unlock(&rules_lock);
	return 0;
}

/* The first rule that has the port, for the caller to put; or NULL. */
static struct rule *rule_find(u32 port)
{
	struct rule *rule, *found = NULL;
	unsigned int i;

	mutex_lock(&rules_lock);
	list_for_each_entry(rule, &rules, link) {
		for (i = 0; i < rule->nr && !found; i++)
			if (port >= rule->ranges[i].first && port <= rule->ranges[i].last)
				found = rule;
		if (found) {
			kref_get(&found->users);
			break;
		}
	}
	mutex_unlock(&rules_lock);
	return found;
}

static void rules_flush(void)
{
	struct rule *rule, *next;

	list_for_each_entry_safe(rule, next, &rules, link) {
		list_del(&rule->link);
		rule_put(rule);
	}
}

static int __init rules_init(void)
{
	static const struct range web[] = { { 80, 80 }, { 443, 443 }, { 8080, 8089 } };
	static const struct range all[] = { { 0, U16_MAX } };
	static const struct range wrong[] = { { 2, 1 } };
	struct rule *found, *other;

	BUG_ON(rule_add("web", true, web, ARRAY_SIZE(web)));
	BUG_ON(rule_add("all", false, all, ARRAY_SIZE(all)));
	BUG_ON(rule_add("wrong", true, wrong, ARRAY_SIZE(wrong)) != -EINVAL);

	found = rule_find(8081);
	BUG_ON(!found || !found->allow || strcmp(found->name, "web") != 0);
	other = rule_find(22);
	BUG_ON(!other || other->allow);
	rule_put(other);
	BUG_ON(rule_find(U16_MAX + 1));

	/* Replaced while somebody has it: the old one lives on, the new one stands in its place. */
	BUG_ON(rule_add("web", false, web, 1));
	BUG_ON(!found->allow || kref_read(&found->users) != 1);
	rule_put(found);
	found = rule_find(80);
	BUG_ON(!found || found->allow || found->nr != 1);
	rule_put(found);
	BUG_ON(list_first_entry(&rules, struct rule, link)->nr != 1);

	rules_flush();
	BUG_ON(!list_empty(&rules));
	pr_debug("done\n");
	return 0;
}

module_init(rules_init);
MODULE_LICENSE("Dual MIT/GPL");
