// SPDX-License-Identifier: Apache-2.0
/* The native half of Victim.java. */
#include <jni.h>
#include <stdint.h>
#include <time.h>

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

JNIEXPORT void JNICALL Java_Victim_callBack(JNIEnv *env, jclass victim, jlong ns)
{
	jmethodID method = (*env)->GetStaticMethodID(env, victim, "calledBack", "(J)V");

	if (method)
		(*env)->CallStaticVoidMethod(env, victim, method, ns);
}

JNIEXPORT jlong JNICALL Java_Victim_spinNative(JNIEnv *env, jclass victim, jlong ns)
{
	int64_t start = now(), took;
	volatile uint64_t x = 1;

	do {
		for (int i = 0; i < 50000; i++)
			x = x * 31 + (x >> 7);
		took = now() - start;
	} while (took < ns);
	return took;
}
