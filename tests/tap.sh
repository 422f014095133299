# tap.sh - sourced by the tests written in shell: results as TAP, for automake's TAP driver.
#
#   ok NAME            a check that passed
#   not_ok NAME FILE   a check that failed; FILE (or nothing) says how
#   skip NAME WHY      a check that cannot run here
#   tap_end            the plan; exit status 1 when a check failed

tap_n=0
tap_failed=0

ok() {
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1"
}

not_ok() {
    tap_n=$((tap_n + 1))
    tap_failed=$((tap_failed + 1))
    echo "not ok $tap_n - $1"
    if [ -n "${2-}" ]; then
        sed -e 's/^/# /' -e 60q "$2"
    fi
}

skip() {
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1 # SKIP $2"
}

# report NAME FILE: a check whose findings are the lines of FILE; none = passed
report() {
    if [ -s "$2" ]; then
        not_ok "$1" "$2"
    else
        ok "$1"
    fi
}

# The TAP driver counts the "not ok" lines, so the status is for people who run a test by hand.
tap_end() {
    echo "1..$tap_n"
    if [ "$tap_failed" -gt 0 ]; then
        echo "# $tap_failed of $tap_n failed"
        [ -n "${AM_TAP_AWK-}" ] || exit 1
    fi
    exit 0
}
