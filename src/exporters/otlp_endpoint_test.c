// SPDX-License-Identifier: Apache-2.0
#include "exporters/otlp_endpoint.h"

#include <errno.h>

#include "net/client.h"
#include "test.h"

TEST(otlp_endpoint_is_read_as_the_collector_reads_it)
{
	static const struct {
		const char *text;
		bool insecure;
		bool tls;
		const char *authority, *unix_socket;
	} cases[] = {
		{ "backend:4317", false, true, "backend:4317", "" },
		{ "backend:4317", true, false, "backend:4317", "" },
		{ "http://backend:4317", false, true, "backend:4317", "" },
		{ "http://backend:4317", true, false, "backend:4317", "" },
		{ "https://backend:4317", true, true, "backend:4317", "" },
		{ "dns:///backend:4317", true, false, "backend:4317", "" },
		{ "dns:backend:4317", true, false, "backend:4317", "" },
		{ "[::1]:4317", true, false, "[::1]:4317", "" },
		{ "unix:///run/x.sock", true, false, "localhost", "/run/x.sock" },
		{ "unix:/run/x.sock", false, true, "localhost", "/run/x.sock" },
		{ "unix:x.sock", true, false, "localhost", "x.sock" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tls_client_options tls = { .insecure = cases[i].insecure };
		struct otlp_target endpoint;
		const char *why;

		EQ(otlp_endpoint_parse(cases[i].text, &tls, &endpoint, &why), 0);
		EQ(endpoint.tls, cases[i].tls);
		STREQ(endpoint.authority, cases[i].authority);
		STREQ(endpoint.unix_socket, cases[i].unix_socket);
	}
}

TEST(otlp_endpoint_has_tls_where_an_authority_is_given)
{
	struct tls_client_options tls = { .insecure = true, .ca_file = "/ca.pem" };
	struct otlp_target endpoint;
	const char *why;

	EQ(otlp_endpoint_parse("backend:4317", &tls, &endpoint, &why), 0);
	OK(endpoint.tls);
}

TEST(otlp_endpoint_says_what_is_wrong)
{
	static const char *const bad[] = {
		"", "backend", ":4317", "backend:", "backend:http", "backend:99999", "backend:4317/path", "::1:4317",
		"a@backend:4317", "dns://8.8.8.8/backend:4317", "unix:", "https://", "back end:1",
	};
	struct tls_client_options tls = { 0 };
	struct otlp_target endpoint;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *why = NULL;

		EQ(otlp_endpoint_parse(bad[i], &tls, &endpoint, &why), -EINVAL);
		OK(why);
	}
}

TEST(otlp_url_needs_a_scheme_and_a_host)
{
	OK(!otlp_url_problem("http://localhost:4318"));
	OK(!otlp_url_problem("HTTPS://backend/otlp/"));
	OK(otlp_url_problem("localhost:4318"));
	OK(otlp_url_problem("http://"));
	OK(otlp_url_problem("http://:4318"));
	OK(otlp_url_problem("http://a b"));
}
