// SPDX-License-Identifier: Apache-2.0
/*
 * A module of Ruby that calls back: a method of an object, then its block; that computes without the lock; and that
 * spoils what a profiler looks at.
 */
#include <ruby.h>
#include <ruby/thread.h>

__attribute__((noinline)) static VALUE native_inner(VALUE object)
{
	VALUE value = rb_funcall(object, rb_intern("called"), 0);

	return rb_yield(value);
}

static VALUE native_call(VALUE self, VALUE object)
{
	VALUE value = native_inner(object);

	return value == Qundef ? Qnil : value;
}

__attribute__((noinline)) static void *native_spin(void *arg)
{
	volatile unsigned long total = 0;

	for (unsigned long i = 0; i < 20000000; i++)
		total += i;
	return arg;
}

static VALUE native_compute(VALUE self)
{
	rb_thread_call_without_gvl(native_spin, NULL, RUBY_UBF_IO, NULL);
	return Qnil;
}

/* The instruction sequence inside of the object that Ruby shows for it, or, in some versions, one step further. */
static unsigned long *sequence_of(VALUE wrapper)
{
	unsigned long *data = RTYPEDDATA_DATA(wrapper);

	return (*data & 0xf01f) == 0x701a ? data : *(unsigned long **)data;
}

/* Writes a byte to a random place of what names and lines of a method are read from. */
static VALUE native_spoil(VALUE self, VALUE wrapper, VALUE random)
{
	unsigned char *body = (unsigned char *)sequence_of(wrapper)[2];
	unsigned long number = NUM2ULONG(random);

	body[64 + number % 88] = (unsigned char)(number >> 8);
	return Qnil;
}

void Init_native(void)
{
	VALUE module = rb_define_module("Native");

	rb_define_module_function(module, "call", native_call, 1);
	rb_define_module_function(module, "compute", native_compute, 0);
	rb_define_module_function(module, "spoil", native_spoil, 2);
}
