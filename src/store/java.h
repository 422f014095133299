/*
 * java.h - the ways to write the names of Java's classes and methods.
 *
 *     pkg/Cls$Inner.method        as frames have them: slashes in the package, then a dot
 *     pkg.Cls$Inner[]             as class columns have them
 *
 * NORM takes the numbers out that differ from run to run, so that two runs can be compared:
 *
 *     X$$Lambda$88+0x00007f5cbc009a00/27319466     X$$Lambda$7.0x00007ff8640068e0
 *     X$$Lambda/0x0000000078046500                 X$$Lambda$12/1044036744
 *     X$$Lambda$lambda$wrap$2$2630016632.0x0000    -> X$$Lambda
 *     X$MH.0x00007fa868002400, X$MH/0x…, X$MH+0x…/158…, X/1585239 (hidden)     -> X$MH, X
 *     LambdaForm$MH012                             -> LambdaForm$MH
 *     GeneratedMethodAccessor12 (Constructor …)    -> GeneratedMethodAccessor
 *     jdk/proxy2/$Proxy34                          -> jdk/proxy/$Proxy
 *     X$$EnhancerBySpringCGLIB$$a1b2 (FastClassBy, KeyFactoryBy)   -> X$$EnhancerBySpringCGLIB
 *
 * JFRCONV writes as async-profiler's converter does: NORM takes only addresses and hash codes away,
 * and SIMPLE knows packages by their slashes, which lambda classes of HotSpot's recorder lack.
 */
#ifndef FM_STORE_JAVA_H
#define FM_STORE_JAVA_H

#include "util/out.h"

enum {
    FM_JAVA_DOT = 1,        /* pkg.Cls.method */
    FM_JAVA_SIMPLE = 2,     /* Cls.method */
    FM_JAVA_NORM = 4,
    FM_JAVA_JFRCONV = 8
};

/* The name of a frame; `java`: it is known to be a Java method, so that dots of a class without
 * slashes are those of its package. What cannot be a Java name stays as it is. */
void fm_java_method(struct fm_out *out, const char *s, size_t n, bool java, unsigned style);
/* The name of a class. */
void fm_java_class(struct fm_out *out, const char *s, size_t n, unsigned style);

#endif
