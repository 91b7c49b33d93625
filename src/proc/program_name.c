// SPDX-License-Identifier: Apache-2.0
#include "proc/program_name.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clean_text.h"
#include "base/str.h"

#define ARGUMENTS_MAX 256	/* that are looked at: class paths and agents may come before what is run */

/* An interpreter, by its name without a version; lists have a space before and behind each word. */
struct interpreter {
	const char *name;
	const char *with_value;		/* options whose value is the next argument */
	const char *with_module;	/* ... that is what runs */
	const char *with_code;		/* ... that is the program: it has no name */
};

static const struct interpreter interpreters[] = {
	{ "python", " -X -W --check-hash-based-pycs ", " -m ", " -c " },
	{ "pypy", " -X -W ", " -m ", " -c " },
	{ "node", " -r --require --import --loader --experimental-loader -C --conditions --env-file ", " ",
	  " -e --eval -p --print " },
	{ "nodejs", " -r --require --import --loader --experimental-loader -C --conditions --env-file ", " ",
	  " -e --eval -p --print " },
	{ "ruby", " -I -r -C -E ", " -S ", " -e " },
	{ "perl", " -I ", " ", " -e -E " },
	{ "php", " -d -c -z ", " -f ", " -r -B -R -S " },
	{ "bash", " -o -O --rcfile --init-file ", " ", " -c " },
	{ "dash", " -o ", " ", " -c " },
	{ "sh", " -o ", " ", " -c " },
	{ "zsh", " -o ", " ", " -c " },
	{ "ksh", " -o ", " ", " -c " },
	{ "mksh", " -o ", " ", " -c " },
	{ "dotnet", " --runtimeconfig --depsfile --additionalprobingpath ", " exec ", " " },
	{ "lua", " -l ", " ", " -e " },
	{ "luajit", " -l ", " ", " -e " },
	{ "tclsh", " ", " ", " " },
	{ "guile", " -L -l ", " -s ", " -c " },
	{ "deno", " ", " run ", " eval " },
	{ "bun", " ", " run ", " -e " },
};

/* Options of java that take the next argument. */
static const char java_values[] = " -cp -classpath --class-path -p --module-path --add-opens --add-exports --add-reads "
				  "--add-modules --limit-modules --patch-module --upgrade-module-path ";

/* Names that many programs have: what they are in tells more. */
static const char generic[] =
	" app main index server run start manage wsgi asgi __main__ __init__ cli service worker api application "
	"bootstrap launcher startup program bin config web puma unicorn rails rackup ";
/* ... and folders that tell nothing. */
static const char generic_folders[] =
	" tmp root home bin sbin src dist build out lib libexec app apps opt srv usr local var www html public current "
	"releases code workspace workdir main server scripts script cmd target libs share jar jars node_modules "
	"site-packages dist-packages api web service ";
/* Programs that run another, which an argument names as module:variable. */
static const char app_servers[] = " gunicorn uvicorn hypercorn daphne granian waitress-serve ";

struct arguments {
	struct str at[ARGUMENTS_MAX];
	u32 count;
};

/* ---- Words ----------------------------------------------------------------------------- */

static bool is_listed(const char *list, struct str word)
{
	char key[64];

	if (!word.len || word.len > sizeof(key) - 3 || memchr(word.at, ' ', word.len))
		return false;
	(void)snprintf(key, sizeof(key), " %.*s ", (int)word.len, word.at);
	for (char *c = key; *c; c++)
		if (*c >= 'A' && *c <= 'Z' && key[1] != '-')
			*c = (char)(*c - 'A' + 'a');
	return strstr(list, key);
}

static struct str cut_at(struct str s, char c)
{
	struct str first = { s.at, 0 };

	(void)str_cut(&s, c, &first);
	return first;
}

/* Is it name with nothing but a version behind it? */
static bool is_program(struct str s, const char *name)
{
	if (!str_starts(s, name))
		return false;
	for (u32 i = (u32)strlen(name); i < s.len; i++)
		if ((s.at[i] < '0' || s.at[i] > '9') && s.at[i] != '.')
			return false;
	return true;
}

static void arguments_split(const struct program *program, struct arguments *ret)
{
	ret->count = 0;
	for (size_t at = 0; at < program->arguments_bytes && ret->count < ARGUMENTS_MAX;) {
		const char *from = program->arguments + at;
		size_t len = strnlen(from, program->arguments_bytes - at);

		ret->at[ret->count++] = (struct str){ from, (u32)len };
		at += len + 1;
	}
	/* A process that wrote its title leaves the rest empty. */
	while (ret->count && !ret->at[ret->count - 1].len)
		ret->count--;
}

/* ---- Names ----------------------------------------------------------------------------- */

static struct str parent_of(struct str path)
{
	while (path.len && path.at[path.len - 1] != '/')
		path.len--;
	while (path.len && path.at[path.len - 1] == '/')
		path.len--;
	return path;
}

/* The innermost folder that has a name of its own, but not whose home it is; "" if there is none. */
static struct str folder_name(struct str path)
{
	for (; path.len; path = parent_of(path)) {
		struct str name = str_base_name(path);

		if (str_is(str_base_name(parent_of(path)), "home"))
			break;
		if (name.len > 1 && !is_listed(generic_folders, name) && !is_program(name, "python") &&
		    !is_program(name, "v"))
			return name;
	}
	return (struct str){ "", 0 };
}

static struct str without_extension(struct str name)
{
	static const char *const extensions[] = { ".py", ".pyc", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php",
						  ".sh", ".bash", ".java", ".jar", ".war", ".dll", ".lua", ".tcl",
						  ".scm", ".R" };

	for (size_t i = 0; i < sizeof(extensions) / sizeof(*extensions); i++)
		if (str_ends(name, extensions[i]) && name.len > strlen(extensions[i]))
			return (struct str){ name.at, name.len - (u32)strlen(extensions[i]) };
	return name;
}

/* petclinic-3.1.0-SNAPSHOT: petclinic. */
static struct str without_version(struct str name)
{
	for (u32 i = 1; i + 1 < name.len; i++)
		if ((name.at[i] == '-' || name.at[i] == '_') && name.at[i + 1] >= '0' && name.at[i + 1] <= '9')
			return (struct str){ name.at, i };
	return name;
}

/* A file, by its name or that of its folder. */
static struct str file_name(const struct program *program, struct str path)
{
	struct str name = without_extension(str_base_name(path)), folder;

	if (!is_listed(generic, name))
		return name;
	folder = folder_name(parent_of(path));
	if (!folder.len && path.len && path.at[0] != '/')
		folder = folder_name(str_of(program->directory));
	return folder.len ? folder : name;
}

/* shop.web.main: the last part that says something. */
static struct str dotted_name(struct str name, bool from_start)
{
	struct str rest = name, part, best = { "", 0 };

	while (str_cut(&rest, '.', &part))
		if (part.len && !is_listed(generic, part) && !(from_start && best.len))
			best = part;
	return best.len ? best : name;
}

/* python -m shop.main: shop; what is more than one such part says something, and so does Python's own http.server. */
static struct str module_name(struct str name)
{
	struct str cut = name;

	while (cut.len && !str_is(cut, "http.server")) {
		const char *dot = memrchr(cut.at, '.', cut.len);

		if (!dot || !is_listed(generic, (struct str){ dot + 1, cut.len - (u32)(dot - cut.at) - 1 }))
			break;
		cut.len = (u32)(dot - cut.at);
	}
	return cut.len ? cut : name;
}

/* module:variable of an application server; "" if no argument is one. */
static struct str app_name(const struct program *program, const struct arguments *args, u32 from)
{
	for (u32 i = from; i < args->count; i++) {
		struct str module = cut_at(args->at[i], ':');
		bool is_module = module.len && module.len + 1 < args->at[i].len && args->at[i].at[0] != '-';

		for (u32 k = 0; is_module && k < module.len; k++)
			is_module = strchr("._", module.at[k]) || (module.at[k] | 32) - 'a' + 0u < 26u ||
				    (k && module.at[k] - '0' + 0u < 10u);
		if (!is_module)
			continue;
		module = dotted_name(module, true);
		if (is_listed(generic, module) && folder_name(str_of(program->directory)).len)
			return folder_name(str_of(program->directory));
		return is_listed(generic, module) ? (struct str){ "", 0 } : module;
	}
	return (struct str){ "", 0 };
}

/* celery -A shop.tasks: what follows such an option; "" if there is none. */
static struct str option_value(const struct arguments *args, u32 from, const char *option, const char *longer)
{
	u32 len = (u32)strlen(longer);

	for (u32 i = from; i < args->count; i++) {
		if (str_is(args->at[i], option) || str_is(args->at[i], longer))
			return i + 1 < args->count ? args->at[i + 1] : (struct str){ "", 0 };
		if (str_starts(args->at[i], longer) && args->at[i].len > len && args->at[i].at[len] == '=')
			return (struct str){ args->at[i].at + len + 1, args->at[i].len - len - 1 };
	}
	return (struct str){ "", 0 };
}

/* What was found may itself run something. */
static struct str what_it_runs(const struct program *program, const struct arguments *args, u32 at, struct str name)
{
	struct str inner = { "", 0 };

	if (is_listed(app_servers, name))
		inner = app_name(program, args, at + 1);
	else if (str_is(name, "celery"))
		inner = dotted_name(cut_at(option_value(args, at + 1, "-A", "--app"), ':'), true);
	else if ((str_is(name, "bundle") || str_is(name, "bundler")) && at + 2 < args->count &&
		 str_is(args->at[at + 1], "exec"))
		inner = file_name(program, args->at[at + 2]);
	return inner.len ? inner : name;
}

/* ---- Interpreters ------------------------------------------------------------------------ */

/* The last letter of -um counts, the others are switches. */
static struct str last_option(struct str word, char room[3])
{
	if (word.len < 3 || word.at[0] != '-' || word.at[1] == '-')
		return word;
	for (u32 i = 1; i < word.len; i++)
		if ((word.at[i] | 32) < 'a' || (word.at[i] | 32) > 'z')
			return word;
	room[0] = '-';
	room[1] = word.at[word.len - 1];
	return (struct str){ room, 2 };
}

static struct str script_name(const struct program *program, const struct interpreter *by, const struct arguments *args)
{
	for (u32 i = 1; i < args->count; i++) {
		char room[3];
		struct str word = args->at[i], option = last_option(word, room);

		if (is_listed(by->with_code, option))
			break;
		if (is_listed(by->with_module, option) && i + 1 < args->count)
			return what_it_runs(program, args, i + 1, str_starts(str_of(by->name), "py") ?
					    module_name(args->at[i + 1]) : file_name(program, args->at[i + 1]));
		if (is_listed(by->with_value, word)) {
			i++;
			continue;
		}
		if (str_is(word, "--") && i + 1 < args->count)
			return file_name(program, args->at[i + 1]);
		if (word.len && word.at[0] != '-' && word.at[0] != '+')
			return what_it_runs(program, args, i, file_name(program, word));
	}
	return (struct str){ "", 0 };
}

/* What is said about the name, not guessed. */
static struct str java_property(struct str word)
{
	static const char *const properties[] = { "-Dotel.service.name=", "-Ddd.service=",
						  "-Dspring.application.name=" };

	for (size_t i = 0; i < sizeof(properties) / sizeof(*properties); i++)
		if (str_starts(word, properties[i]))
			return (struct str){ word.at + strlen(properties[i]), word.len - (u32)strlen(properties[i]) };
	return (struct str){ "", 0 };
}

static struct str jar_name(const struct program *program, struct str path)
{
	struct str name = without_version(without_extension(str_base_name(path)));

	return is_listed(generic, name) ? file_name(program, path) : name;
}

static struct str java_name(const struct program *program, const struct arguments *args)
{
	struct str none = { "", 0 };

	for (u32 i = 1; i < args->count; i++) {
		struct str word = args->at[i], said = java_property(word);

		if (said.len)
			return said;
		if (str_is(word, "-jar") && i + 1 < args->count)
			return jar_name(program, args->at[i + 1]);
		if ((str_is(word, "-m") || str_is(word, "--module")) && i + 1 < args->count)
			return dotted_name(cut_at(args->at[i + 1], '/'), false);
		if (is_listed(java_values, word))
			i++;
		else if (word.len && word.at[0] != '-' && word.at[0] != '@')
			return str_ends(word, ".java") ? file_name(program, word) : dotted_name(word, false);
	}
	return none;
}

/* gunicorn: worker [shop], puma 6.4.0 (tcp://0.0.0.0:3000) [shop]: the title that a process gave itself. */
static struct str title_name(struct str title)
{
	const char *open = title.len && title.at[title.len - 1] == ']' ? memrchr(title.at, '[', title.len) : NULL;
	struct str inside = { open ? open + 1 : "", open ? title.len - (u32)(open - title.at) - 2 : 0 };

	if (inside.len && !memchr(inside.at, ' ', inside.len))
		return inside;
	return str_base_name(cut_at(cut_at(title, ' '), ':'));
}

/* ---- All of it ----------------------------------------------------------------------------- */

static struct str exe_name(const struct program *program)
{
	struct str name = str_base_name(str_of(program->exe_path));

	if (str_ends(name, " (deleted)"))
		name.len -= 10;
	return name;
}

static struct str inner_name(const struct program *program, struct str exe, struct arguments *args)
{
	struct str none = { "", 0 };

	if (!args->count)
		return none;
	if (is_program(exe, "java"))
		return java_name(program, args);
	if (str_is(exe, "beam.smp"))
		return cut_at(option_value(args, 1, "-sname", "-name"), '@');
	if (str_is(exe, "busybox") || str_is(exe, "toybox") || str_is(exe, "coreutils"))
		return str_base_name(args->at[args->count > 1 && str_is(str_base_name(args->at[0]), "busybox")]);
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(*interpreters); i++) {
		if (!is_program(exe, interpreters[i].name))
			continue;
		if (args->count == 1 && memchr(args->at[0].at, ' ', args->at[0].len))
			return title_name(args->at[0]);
		return script_name(program, &interpreters[i], args);
	}
	return none;
}

/* One file may be several programs, by the link that it was called by: redis-server is redis-check-rdb. */
static struct str called_name(struct str exe, const struct arguments *args)
{
	struct str called = args->count ? cut_at(cut_at(args->at[0], ' '), ':') : exe;

	for (size_t i = 0; i < sizeof(interpreters) / sizeof(*interpreters); i++)
		if (is_program(exe, interpreters[i].name))
			return exe;
	return called.len > 1 && called.at[0] == '/' ? str_base_name(called) : exe;
}

void program_name(const struct program *program, char ret_name[PROGRAM_NAME_BYTES + 1])
{
	struct str exe = exe_name(program), name;
	struct arguments args;

	arguments_split(program, &args);
	name = inner_name(program, exe, &args);
	if (!name.len)
		name = called_name(exe, &args);
	(void)snprintf(ret_name, PROGRAM_NAME_BYTES + 1, "%.*s", (int)name.len, name.at ? name.at : "");
	clean_text(ret_name);
}
