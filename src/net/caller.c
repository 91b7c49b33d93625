// SPDX-License-Identifier: Apache-2.0
#include "net/caller.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "net/address.h"

#define TABLE_BYTES_MAX (16u << 20)
#define ESTABLISHED 1

/* ---- Addresses ----------------------------------------------------------------------------- */

/* The 16 bytes of either family: IPv4 as ::ffff:a.b.c.d, as sockets for both families have it. */
static void plain_address(const struct sockaddr_storage *address, struct in6_addr *ret_ip, in_port_t *ret_port)
{
	const struct sockaddr_in6 *six = (const void *)address;
	const struct sockaddr_in *four = (const void *)address;

	if (address->ss_family == AF_INET6) {
		*ret_ip = six->sin6_addr;
		*ret_port = six->sin6_port;
		return;
	}
	*ret_ip = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
	memcpy(&ret_ip->s6_addr[12], &four->sin_addr, 4);
	*ret_port = four->sin_port;
}

static bool is_loopback(const struct in6_addr *ip)
{
	return IN6_IS_ADDR_LOOPBACK(ip) || (IN6_IS_ADDR_V4MAPPED(ip) && ip->s6_addr[12] == 127);
}

/* Whoever has an IPv6 address has the 2^64 beside it. */
static u64 address_key(const struct in6_addr *ip)
{
	u64 high, low;

	memcpy(&high, ip->s6_addr, 8);
	memcpy(&low, ip->s6_addr + 8, 8);
	return IN6_IS_ADDR_V4MAPPED(ip) ? low : high ^ 1;
}

/* ---- The user by sock_diag ----------------------------------------------------------------- */

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 request;
};

/* The peer's socket goes from its address to ours. */
static void fill_question(const struct sockaddr_storage *from, const struct sockaddr_storage *to,
			  struct question *ret_question)
{
	struct in6_addr from_ip, to_ip;
	struct inet_diag_sockid *id = &ret_question->request.id;
	bool is_four;

	*ret_question = (struct question){
		.header = { .nlmsg_len = sizeof(*ret_question), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST },
		.request = { .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u },
	};
	plain_address(from, &from_ip, &id->idiag_sport);
	plain_address(to, &to_ip, &id->idiag_dport);
	is_four = IN6_IS_ADDR_V4MAPPED(&from_ip);
	ret_question->request.sdiag_family = is_four ? AF_INET : AF_INET6;
	memcpy(id->idiag_src, from_ip.s6_addr + (is_four ? 12 : 0), is_four ? 4 : 16);
	memcpy(id->idiag_dst, to_ip.s6_addr + (is_four ? 12 : 0), is_four ? 4 : 16);
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
}

/* -ENOENT: the kernel says that there is none. */
static int ask_kernel(const struct sockaddr_storage *from, const struct sockaddr_storage *to, uid_t *ret_uid)
{
	_cleanup_(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	union { struct nlmsghdr header; char bytes[4096]; } answer;
	const struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
	struct question question;
	ssize_t n;

	if (fd < 0)
		return -errno;
	fill_question(from, to, &question);
	if (send(fd, &question, sizeof(question), 0) != sizeof(question))
		return -EIO;
	/* The answer is made within send(): there is nothing to wait for. */
	n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(int)))
		return -EIO;
	if (answer.header.nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)NLMSG_DATA(&answer.header))->error == -ENOENT ? -ENOENT : -EOPNOTSUPP;
	if (answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY || n < (ssize_t)NLMSG_LENGTH(sizeof(*found)))
		return -EIO;
	*ret_uid = found->idiag_uid;
	return 0;
}

/* ---- The user by /proc --------------------------------------------------------------------- */

/* As the kernel prints it: words of 32 bits in the machine's order. */
static void print_address(const struct sockaddr_storage *address, bool is_four, char out[64])
{
	struct in6_addr ip;
	in_port_t port;
	u32 words[4];

	plain_address(address, &ip, &port);
	memcpy(words, &ip, sizeof(words));
	if (is_four)
		snprintf(out, 64, "%08X:%04X", words[3], ntohs(port));
	else
		snprintf(out, 64, "%08X%08X%08X%08X:%04X", words[0], words[1], words[2], words[3], ntohs(port));
}

bool caller_find_in_table(const char *table, const struct sockaddr_storage *from, const struct sockaddr_storage *to,
			uid_t *ret_uid)
{
	for (int is_four = 0; is_four < 2; is_four++) {
		char local[64], remote[64], ends[160], state[8];
		const char *line;

		print_address(from, is_four, local);
		print_address(to, is_four, remote);
		snprintf(ends, sizeof(ends), ": %s %s ", local, remote);
		line = strstr(table, ends);
		/* st, queues, timer, retransmissions, uid */
		if (line && sscanf(line + strlen(ends), "%7s %*s %*s %*s %u", state, ret_uid) == 2 &&
		    strtol(state, NULL, 16) == ESTABLISHED)
			return true;
	}
	return false;
}

static bool read_tables(const struct sockaddr_storage *from, const struct sockaddr_storage *to, uid_t *ret_uid)
{
	static const char *const paths[] = { "/proc/net/tcp", "/proc/net/tcp6" };
	bool found = false;

	for (int i = 0; i < 2 && !found; i++) {
		_cleanup_(closep) int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		_cleanup_(buf_done) struct buf table;

		buf_init(&table, TABLE_BYTES_MAX);
		if (fd < 0 || io_read_whole(fd, &table) < 0)
			continue;
		buf_addf(&table, "\n");
		found = !buf_err(&table) && caller_find_in_table(table.data, from, to, ret_uid);
	}
	return found;
}

/* ---- Both ---------------------------------------------------------------------------------- */

static bool find_user(int fd, const struct sockaddr_storage *address, uid_t *ret_uid)
{
	struct sockaddr_storage own = { 0 };
	socklen_t bytes = sizeof(own);

	if (getsockname(fd, (void *)&own, &bytes) < 0)
		return false;
	/* A kernel without that module answers as one without that socket does. */
	return ask_kernel(address, &own, ret_uid) == 0 || read_tables(address, &own, ret_uid);
}

static void find_unix(int fd, struct caller *peer)
{
	struct ucred credentials;
	socklen_t bytes = sizeof(credentials);

	peer->is_local = true;
	peer->has_uid = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) == 0;
	if (peer->has_uid)
		peer->uid = credentials.uid;
}

void caller_find(int fd, const struct sockaddr_storage *address, socklen_t bytes, struct caller *ret_caller)
{
	struct in6_addr ip;
	in_port_t port;

	*ret_caller = (struct caller){ 0 };
	address_text(address, bytes, ret_caller->text, sizeof(ret_caller->text));
	if (address->ss_family != AF_INET && address->ss_family != AF_INET6) {
		find_unix(fd, ret_caller);
	} else {
		plain_address(address, &ip, &port);
		ret_caller->is_local = is_loopback(&ip);
		ret_caller->key = address_key(&ip);
		if (ret_caller->is_local)
			ret_caller->has_uid = find_user(fd, address, &ret_caller->uid);
	}
	if (ret_caller->has_uid)
		ret_caller->key = (u64)ret_caller->uid << 1 | (u64)1 << 63;
}
