// SPDX-License-Identifier: Apache-2.0
#include "web/sign_in.h"

#include <string.h>

#include "base/buf.h"
#include "base/hex.h"

static bool decode(const char *from, size_t len, char *to, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		char c = from[i] == '+' ? ' ' : from[i];

		if (c == '%') {
			int high = i + 2 < len ? hex_digit(from[i + 1]) : -1;
			int low = high < 0 ? -1 : hex_digit(from[i + 2]);

			if (low < 0 || !(high | low))
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (n + 1 >= bytes)
			return false;
		to[n++] = c;
	}
	to[n] = '\0';
	return true;
}

static bool is_key(const char *pair, size_t len, const char *key)
{
	size_t wanted = strlen(key);

	return len > wanted && !strncmp(pair, key, wanted) && pair[wanted] == '=';
}

bool form_value(const char *form, const char *key, char *ret_value, size_t bytes)
{
	while (*form) {
		size_t len = strcspn(form, "&"), name = strlen(key) + 1;

		if (is_key(form, len, key))
			return decode(form + name, len - name, ret_value, bytes);
		form += len + (form[len] == '&');
	}
	return false;
}

void form_without(const char *form, const char *key, struct buf *out)
{
	bool is_first = true;

	while (*form) {
		size_t len = strcspn(form, "&");

		if (len && !is_key(form, len, key)) {
			buf_addf(out, "%s", is_first ? "" : "&");
			buf_add(out, form, len);
			is_first = false;
		}
		form += len + (form[len] == '&');
	}
}

void sign_in_page(const char *sentence, struct buf *out)
{
	buf_addf(out,
		 "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		 "<title>wick: sign in</title>\n<link rel=\"icon\" href=\"/ui/icon.svg\">\n"
		 "<link rel=\"stylesheet\" href=\"/ui/style.css\">\n</head>\n<body>\n<main class=\"sign-in\">\n"
		 "<h1><img src=\"/ui/icon.svg\" alt=\"\" width=\"28\" height=\"28\"> wick</h1>\n"
		 "<p role=\"status\">%s</p>\n<form method=\"post\" action=\"\">\n"
		 "<label>Token <input name=\"token\" type=\"password\" autocomplete=\"current-password\" required "
		 "autofocus></label>\n<button type=\"submit\">Sign in</button>\n</form>\n"
		 "<p class=\"dim\">It is the <code>token</code> of the extension <code>page</code>. Where none is set, "
		 "wick makes one for each run, and its log tells it.</p>\n</main>\n</body>\n</html>\n", sentence);
}
