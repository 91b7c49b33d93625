# SPDX-License-Identifier: Apache-2.0
# large_file.pl FILE: what Perl is used for. Reads a web server's log, counts by address, path and hour, and prints the most.
use strict;
use warnings;

my (%by_address, %by_path, %by_status, %bytes);

sub take_apart {
	my ($line) = @_;
	return unless $line =~ m{^(\S+) \S+ \S+ \[([^\]]+)\] "(\w+) ([^"?]+)(?:\?([^"]*))? HTTP/[\d.]+" (\d+) (\d+)$};
	return { address => $1, time => $2, path => $4, query => $5 // '', status => $6, bytes => $7 };
}

sub count {
	my ($entry) = @_;
	$by_address{ $entry->{address} }++;
	$by_path{ $entry->{path} }++;
	$by_status{ $entry->{status} }++;
	my %query = map { split /=/, $_, 2 } split /&/, $entry->{query};
	$bytes{ $query{q} } += $entry->{bytes} if defined $query{q};
}

sub most {
	my ($counts) = @_;
	my @keys = sort { $counts->{$b} <=> $counts->{$a} || $a cmp $b } keys %$counts;
	return map { sprintf "%-20s %d", $_, $counts->{$_} } @keys[0 .. ($#keys < 9 ? $#keys : 9)];
}

open my $in, '<', $ARGV[0] or die "$ARGV[0]: $!\n";
while (my $line = <$in>) {
	chomp $line;
	my $entry = take_apart($line);
	count($entry) if $entry;
}
print "$_\n" for map { most($_) } \%by_address, \%by_path, \%by_status, \%bytes;
