/*
 * measure.c - runs a command and prints what it cost: "cpu SECONDS wall SECONDS rss MIB status N".
 *
 *   measure COMMAND…    the command's standard output goes to /dev/null
 *   measure -c STRING   a shell command line; CPU time and peak memory of all its processes
 *
 * Peak memory is that of the largest process.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void run(char **argv)
{
    int null = open("/dev/null", O_WRONLY);

    if (null >= 0)
        dup2(null, 1);
    if (strcmp(argv[0], "-c") == 0)
        execl("/bin/sh", "sh", "-c", argv[1], (char *)NULL);
    else
        execvp(argv[0], argv);
    perror(argv[0]);
    _exit(127);
}

int main(int argc, char **argv)
{
    struct timespec from, to;
    struct rusage use;
    int status = 0;
    pid_t pid;

    if (argc < 2 || (strcmp(argv[1], "-c") == 0 && argc < 3)) {
        fputs("usage: measure COMMAND… | measure -c STRING\n", stderr);
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &from);
    pid = fork();
    if (pid == 0)
        run(argv + 1);
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &to);
    getrusage(RUSAGE_CHILDREN, &use);
    printf("cpu %.3f wall %.3f rss %.1f status %d\n",
           seconds(use.ru_utime) + seconds(use.ru_stime),
           (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9,
           (double)use.ru_maxrss / 1024, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
    return 0;
}
