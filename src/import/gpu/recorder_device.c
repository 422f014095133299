/*
 * recorder_device.c - what counters mean on which hardware: PCI device ids, and the formulas of the
 * metric set RenderBasic.
 *
 * Ids are ranges of the kernel's list of Intel graphics devices (include/drm/intel/pciids.h);
 * formulas are those of the format reference of Intel GPU dumps (section derived values). Counters
 * of other sets, and of devices that are not listed, keep their names (A7, PEC20 …).
 */
#include "import/gpu/recorder.h"

static const struct {
    uint32_t from, to;
    enum fm_oa_hardware hardware;
} devices[] = {
    {0x0402, 0x042e, FM_OA_HSW}, {0x0a02, 0x0a2e, FM_OA_HSW}, {0x0c02, 0x0c2e, FM_OA_HSW},
    {0x0d02, 0x0d2e, FM_OA_HSW}, {0x0a84, 0x0a84, FM_OA_SKL}, {0x1602, 0x163e, FM_OA_BDW},
    {0x22b0, 0x22b3, FM_OA_BDW}, {0x1902, 0x193d, FM_OA_SKL}, {0x1a84, 0x1a85, FM_OA_SKL},
    {0x3184, 0x3185, FM_OA_SKL}, {0x3e90, 0x3eac, FM_OA_SKL}, {0x5902, 0x593b, FM_OA_SKL},
    {0x5a84, 0x5a85, FM_OA_SKL}, {0x87c0, 0x87ca, FM_OA_SKL}, {0x8a50, 0x8a71, FM_OA_SKL},
    {0x9b21, 0x9bf6, FM_OA_SKL}, {0x4541, 0x4571, FM_OA_SKL}, {0x4e51, 0x4e71, FM_OA_SKL},
    {0x9a40, 0x9af8, FM_OA_TGL}, {0x4c80, 0x4c9a, FM_OA_TGL}, {0x4905, 0x4909, FM_OA_TGL},
    {0x4626, 0x46d4, FM_OA_TGL}, {0x4f80, 0x4f88, FM_OA_DG2}, {0x5690, 0x56c2, FM_OA_DG2},
    {0x7d40, 0x7d40, FM_OA_DG2}, {0x7d45, 0x7d45, FM_OA_DG2}, {0x7d55, 0x7d60, FM_OA_DG2},
    {0x7dd5, 0x7dd5, FM_OA_DG2}, {0x6420, 0x64b0, FM_OA_LNL}, {0xb080, 0xb0b0, FM_OA_LNL},
    {0xe202, 0xe223, FM_OA_LNL},
};

enum fm_oa_hardware fm_oa_hardware(uint32_t device)
{
    for (size_t i = 0; i < FM_COUNT(devices); i++)
        if (device >= devices[i].from && device <= devices[i].to)
            return devices[i].hardware;
    return FM_OA_OTHER;
}

const struct fm_oa_formula *fm_oa_formula(enum fm_oa_hardware hardware, const char *set)
{
    static const struct fm_oa_formula old = {"A0", {"A7"}, {"A8"}, NULL};
    static const struct fm_oa_formula of[] = {
        [FM_OA_HSW] = {"A41", {"A0"}, {"A1"}, "C2"},
        [FM_OA_TGL] = {"A0", {"A7", "A8", "A9", "A10"}, {"A11", "A12", "A13", "A14"}, NULL},
        [FM_OA_LNL] = {"PEC32", {"PEC24"}, {"PEC20"}, NULL},
    };
    if (strcmp(set, "RenderBasic") != 0 || hardware == FM_OA_OTHER)
        return NULL;
    return hardware == FM_OA_BDW || hardware == FM_OA_SKL || hardware == FM_OA_DG2 ? &old
                                                                                   : &of[hardware];
}
