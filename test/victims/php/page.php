<?php
// SPDX-License-Identifier: Apache-2.0
// A page: some 20 ms of work.

class Shop
{
	private $items = [];

	public function item($n)
	{
		return sprintf('%s %05d', md5(str_repeat((string)$n, 50)), $n % 977);
	}

	public function list()
	{
		for ($i = 0; $i < 15000; $i++) {
			$this->items[$this->item($i)] = strtoupper($this->item($i + 1));
		}
		ksort($this->items);
		return count($this->items);
	}
}

function page()
{
	$shop = new Shop();
	return $shop->list();
}

echo page() > 0 ? 'done' : 'failed';
