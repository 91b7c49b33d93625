// SPDX-License-Identifier: Apache-2.0
#include "net/caller.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static struct sockaddr_storage four(const char *ip, int port)
{
	struct sockaddr_storage address = { 0 };
	struct sockaddr_in *in = (void *)&address;

	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	EQ(inet_pton(AF_INET, ip, &in->sin_addr), 1);
	return address;
}

TEST(caller_knows_the_user_at_the_other_end_of_loopback)
{
	struct sockaddr_storage address = four("127.0.0.1", 0);
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), accepted;
	socklen_t bytes = sizeof(address);
	struct caller peer;

	EQ(bind(listener, (void *)&address, sizeof(struct sockaddr_in)), 0);
	EQ(listen(listener, 1), 0);
	EQ(getsockname(listener, (void *)&address, &bytes), 0);
	EQ(connect(client, (void *)&address, sizeof(struct sockaddr_in)), 0);
	bytes = sizeof(address);
	accepted = accept(listener, (void *)&address, &bytes);
	OK(accepted >= 0);
	caller_find(accepted, &address, bytes, &peer);
	OK(peer.is_local);
	OK(peer.has_uid);
	EQ(peer.uid, geteuid());
	close(accepted);
	close(client);
	close(listener);
}

TEST(caller_knows_the_user_of_a_unix_socket)
{
	struct sockaddr_storage address = { .ss_family = AF_UNIX };
	struct caller peer;
	int ends[2];

	EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	caller_find(ends[0], &address, sizeof(sa_family_t), &peer);
	OK(peer.is_local);
	OK(peer.has_uid);
	EQ(peer.uid, geteuid());
	close(ends[0]);
	close(ends[1]);
}

TEST(caller_reads_the_tables_of_proc)
{
	static const char table[] =
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
		"   0: 0100007F:2AF8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1\n"
		"   1: 0100007F:9C40 0100007F:2AF8 01 00000000:00000000 00:00000000 00000000  1000        0 2 1\n"
		"   2: 0100007F:2AF8 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 3 1\n"
		"   3: 0100007F:9C41 0100007F:2AF8 06 00000000:00000000 00:00000000 00000000     0        0 4 1\n"
		"   4: 0000000000000000FFFF00000100007F:9C42 0000000000000000FFFF00000100007F:2AF8 01 "
		"00000000:00000000 00:00000000 00000000  1001        0 5 1\n";
	struct sockaddr_storage to = four("127.0.0.1", 11000), from = four("127.0.0.1", 40000);
	uid_t uid = 7;

	OK(caller_find_in_table(table, &from, &to, &uid));
	EQ(uid, 1000);
	from = four("127.0.0.1", 40001);
	OK(!caller_find_in_table(table, &from, &to, &uid));
	from = four("127.0.0.1", 40002);
	OK(caller_find_in_table(table, &from, &to, &uid));
	EQ(uid, 1001);
	from = four("127.0.0.1", 40003);
	OK(!caller_find_in_table(table, &from, &to, &uid));
}

TEST(caller_of_another_machine_has_no_user)
{
	struct sockaddr_storage address = four("192.0.2.1", 40000);
	struct caller peer, other;

	caller_find(-1, &address, sizeof(struct sockaddr_in), &peer);
	OK(!peer.is_local);
	OK(!peer.has_uid);
	STREQ(peer.text, "192.0.2.1:40000");
	address = four("192.0.2.2", 40000);
	caller_find(-1, &address, sizeof(struct sockaddr_in), &other);
	OK(peer.key != other.key);
}
