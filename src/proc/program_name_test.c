// SPDX-License-Identifier: Apache-2.0
#include "proc/program_name.h"

#include "test.h"

static const struct {
	const char *exe, *arguments, *directory, *name;	/* arguments with | for NUL */
} cases[] = {
	{ "/usr/sbin/nginx", "nginx: master process /usr/sbin/nginx -g daemon on;", "/", "nginx" },
	{ "/usr/lib/postgresql/15/bin/postgres", "postgres: checkpointer ", "/var/lib/postgresql", "postgres" },
	{ "/usr/bin/redis-check-rdb", "/usr/bin/redis-server 127.0.0.1:6379", "/", "redis-server" },
	{ "/srv/x/tool (deleted)", "./tool", "/", "tool" },
	{ "", "", "", "" },
	/* Python */
	{ "/usr/bin/python3.11", "python3|/srv/shop/checkout.py|--token=s3cret", "/", "checkout" },
	{ "/usr/bin/python3.11", "/usr/bin/python3|-u|-X|dev|-W|ignore|app.py", "/srv/shop", "shop" },
	{ "/usr/bin/python3.11", "python3|app.py", "/home/me", "app" },
	{ "/usr/bin/python3.11", "python3|-m|http.server|8000", "/", "http.server" },
	{ "/usr/bin/python3.11", "python3|-um|shop.main", "/", "shop" },
	{ "/usr/bin/python3.11", "python3|-c|import os; token='s3cret'", "/", "python3.11" },
	{ "/usr/bin/python3.11", "python3", "/", "python3.11" },
	{ "/usr/bin/python3.11", "/usr/bin/python3|/usr/bin/gunicorn|-w|4|-b|0.0.0.0:80|shop.wsgi:application", "/",
	  "shop" },
	{ "/usr/bin/python3.11", "/usr/bin/python3|/usr/bin/uvicorn|main:app", "/srv/cart/app", "cart" },
	{ "/usr/bin/python3.11", "/usr/bin/python3|/usr/bin/uvicorn|main:app", "/", "uvicorn" },
	{ "/usr/bin/python3.11", "gunicorn: worker [shop]", "/", "shop" },
	{ "/usr/bin/python3.11", "gunicorn: worker [two words]", "/", "gunicorn" },
	{ "/usr/bin/python3.11", "python|-m|celery|-A|shop.tasks|worker", "/", "shop" },
	{ "/usr/bin/python3.11", "python|manage.py|runserver", "/srv/shop", "shop" },
	{ "/usr/bin/python3.11", "/usr/bin/python3|/usr/bin/unattended-upgrade-shutdown|--wait", "/",
	  "unattended-upgrade-shutdown" },
	/* Node.js */
	{ "/usr/bin/node", "node|--max-old-space-size=512|-r|dotenv/config|/srv/cart/dist/index.js", "/", "cart" },
	{ "/usr/bin/node", "node|worker-mail.mjs", "/srv/x", "worker-mail" },
	{ "/usr/bin/node", "node|-e|let key = 's3cret'", "/srv/x", "node" },
	{ "/usr/bin/node", "node|server.js", "/srv/shop/current", "shop" },
	/* Java */
	{ "/usr/lib/jvm/java-17/bin/java", "java|-Xmx1g|-jar|/opt/petclinic-3.1.0-SNAPSHOT.jar|--key=s3cret", "/",
	  "petclinic" },
	{ "/usr/lib/jvm/java-17/bin/java", "java|-cp|a.jar:b.jar|org.apache.kafka.Kafka|x.properties", "/", "Kafka" },
	{ "/usr/lib/jvm/java-17/bin/java",
	  "java|--add-opens|java.base/java.lang=ALL-UNNAMED|org.apache.catalina.startup.Bootstrap|start", "/",
	  "catalina" },
	{ "/usr/lib/jvm/java-17/bin/java", "java|/srv/Report.java", "/", "Report" },
	{ "/usr/lib/jvm/java-17/bin/java", "java|-Dotel.service.name=orders|-jar|x.jar", "/", "orders" },
	{ "/usr/lib/jvm/java-17/bin/java", "java|-jar|/srv/orders/app.jar", "/", "orders" },
	{ "/usr/lib/jvm/java-17/bin/java", "java|-version", "/", "java" },
	{ "/usr/lib/jvm/java-17/bin/java", "java|-m|shop.billing/shop.billing.Main", "/", "billing" },
	/* Ruby, Perl, shells, PHP, .NET, Erlang */
	{ "/usr/bin/ruby3.1", "ruby|-W0|/usr/bin/jekyll|serve", "/", "jekyll" },
	{ "/usr/bin/ruby3.1", "puma 5.6.5 (tcp://0.0.0.0:9292) [shop]", "/srv/shop", "shop" },
	{ "/usr/bin/ruby3.1", "ruby|/usr/bin/bundle|exec|sidekiq", "/srv/shop", "sidekiq" },
	{ "/usr/bin/perl", "/usr/bin/perl|-wT|/usr/sbin/munin-node", "/", "munin-node" },
	{ "/usr/bin/perl", "perl|-we|print 's3cret'", "/", "perl" },
	{ "/usr/bin/bash", "/bin/bash|/usr/local/bin/backup.sh|s3cret", "/", "backup" },
	{ "/usr/bin/bash", "-bash", "/home/me", "bash" },
	{ "/usr/bin/dash", "sh|-c|curl -H 's3cret'", "/", "dash" },
	{ "/usr/bin/php8.2", "php|-d|memory_limit=1G|artisan|queue:work", "/srv/shop", "artisan" },
	{ "/usr/sbin/php-fpm8.2", "php-fpm: pool www", "/", "php-fpm8.2" },
	{ "/usr/share/dotnet/dotnet", "dotnet|/app/Shop.Api.dll", "/app", "Shop.Api" },
	{ "/usr/lib/erlang/erts-13/bin/beam.smp",
	  "/usr/lib/erlang/erts-13/bin/beam.smp|-W|w|--|-sname|rabbit@host|-setcookie|s3cret", "/", "rabbit" },
	{ "/bin/busybox", "httpd|-f", "/", "httpd" },
	{ "/bin/busybox", "busybox|httpd|-f", "/", "httpd" },
	{ "/usr/bin/python3.11", "|||", "/", "python3.11" },
};

TEST(program_names_are_those_that_a_person_would_give)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char arguments[512], name[PROGRAM_NAME_BYTES + 1];
		size_t bytes = strlen(cases[i].arguments) + 1;

		memcpy(arguments, cases[i].arguments, bytes);
		for (size_t k = 0; k < bytes; k++)
			arguments[k] = arguments[k] == '|' ? '\0' : arguments[k];
		program_name(&(struct program){ cases[i].exe, arguments, bytes, cases[i].directory }, name);
		if (strcmp(name, cases[i].name))
			FAIL("%s: %s, not %s", cases[i].arguments, name, cases[i].name);
		OK(!strstr(name, "s3cret"));
	}
}
