"""Constants: what is known of homes in general. Public. Written by `python -m benchmarks.constants`.

Sources: 622 Scottish homes, March to May 2009 (Energy Demand Research Project, sample of the R package phovafer);
46 apartments of Massachusetts, 2015 (UMass Smart*, the complete ones of 49); two made-up towns of 226 homes
(`diurnal.study.town`). Shapes, week and slope are of the real homes alone. All else is by cross-validation over the
three families, and so used the towns, which were set by hand to look like Australian homes (docs/town.md). No
Australian reading was read. Taken is what has the least expected square error with the level off by a tenth. What
the fields mean is in `rows`.
"""

from diurnal.planning.rows import BaseLoad, Blocks, Clip, Day, FreeRow, Pattern

# fmt: off
SHAPES = {
    "Scotland": (
        874, 734, 621, 537, 487, 455, 434, 420, 412, 408, 409, 442, 476, 575, 708, 901,
        1021, 1077, 1059, 1089, 1085, 1080, 1075, 1061, 1055, 1080, 1059, 1033, 978, 958, 960, 984,
        1043, 1182, 1362, 1500, 1542, 1553, 1526, 1499, 1479, 1496, 1524, 1530, 1485, 1428, 1247, 1057,
    ),
    "Massachusetts": (
        1016, 965, 915, 873, 849, 836, 824, 818, 815, 819, 822, 832, 853, 897, 967, 1030,
        1087, 1109, 1140, 1129, 1121, 1096, 1090, 1096, 1095, 1076, 1038, 986, 949, 922, 913, 913,
        928, 948, 1003, 1055, 1087, 1106, 1138, 1135, 1134, 1120, 1108, 1089, 1079, 1072, 1062, 1045,
    ),
    "pooled": (
        945, 850, 768, 705, 668, 646, 629, 619, 613, 614, 616, 637, 665, 736, 837, 965,
        1054, 1093, 1100, 1109, 1103, 1088, 1082, 1078, 1075, 1078, 1048, 1010, 963, 940, 937, 949,
        985, 1065, 1183, 1278, 1314, 1330, 1332, 1317, 1306, 1308, 1316, 1309, 1282, 1250, 1154, 1051,
    ),
}
"""The mean day from midnight by half hours, in thousandths of its mean; `pooled`: that of both."""
# fmt: on
# fmt: off
WEEK = (
    964, 861, 779, 714, 671, 651, 636, 622, 617, 621, 620, 646, 679, 749, 873, 1006,
    1090, 1129, 1122, 1136, 1114, 1075, 1090, 1075, 1069, 1081, 1056, 1007, 949, 925, 952, 950,
    984, 1096, 1218, 1335, 1377, 1379, 1363, 1352, 1360, 1349, 1376, 1367, 1342, 1277, 1177, 1069,
    937, 835, 755, 695, 655, 645, 622, 617, 611, 618, 618, 648, 676, 770, 903, 1054,
    1154, 1161, 1117, 1092, 1062, 1024, 1015, 996, 1002, 1016, 976, 942, 893, 872, 885, 900,
    951, 1057, 1208, 1333, 1352, 1355, 1364, 1358, 1324, 1350, 1362, 1361, 1329, 1285, 1175, 1062,
    940, 839, 758, 686, 664, 642, 631, 623, 618, 613, 618, 655, 688, 800, 929, 1079,
    1195, 1167, 1129, 1099, 1050, 1029, 997, 987, 991, 984, 976, 941, 900, 893, 869, 904,
    964, 1058, 1173, 1280, 1312, 1336, 1345, 1334, 1319, 1319, 1371, 1341, 1299, 1283, 1154, 1025,
    912, 823, 728, 667, 637, 626, 607, 600, 596, 598, 603, 615, 657, 739, 874, 1035,
    1122, 1137, 1126, 1091, 1058, 1029, 998, 1000, 998, 986, 965, 928, 873, 849, 856, 864,
    900, 1000, 1155, 1236, 1266, 1301, 1308, 1285, 1272, 1266, 1282, 1303, 1272, 1243, 1149, 1049,
    934, 826, 737, 677, 641, 624, 607, 597, 591, 592, 597, 619, 650, 737, 850, 997,
    1085, 1130, 1100, 1084, 1062, 1037, 1012, 1016, 1012, 1010, 990, 954, 932, 913, 900, 925,
    971, 1022, 1134, 1242, 1273, 1317, 1294, 1254, 1267, 1265, 1254, 1256, 1237, 1222, 1146, 1055,
    971, 883, 807, 743, 696, 662, 643, 635, 626, 619, 626, 631, 649, 684, 739, 824,
    897, 1015, 1109, 1159, 1189, 1202, 1210, 1221, 1204, 1222, 1156, 1114, 1067, 1023, 1019, 1006,
    1024, 1058, 1146, 1220, 1260, 1284, 1305, 1262, 1257, 1228, 1225, 1223, 1227, 1199, 1151, 1069,
    970, 893, 814, 761, 714, 667, 652, 635, 627, 626, 618, 631, 645, 666, 693, 757,
    830, 922, 1017, 1125, 1208, 1256, 1284, 1283, 1268, 1265, 1227, 1186, 1133, 1102, 1070, 1080,
    1087, 1139, 1228, 1277, 1338, 1324, 1311, 1331, 1309, 1327, 1314, 1317, 1293, 1278, 1169, 1064,
)
"""The mean week from Monday on, three lines a day, in thousandths of its mean: that of both families."""
# fmt: on
SPREAD = 0.268
"""How far a population's mean is from its own profile, root mean square in levels: the middle family."""
MISMATCH = 0.225
"""How far the others' mean day is from a family's, root mean square over the slots, in levels."""
QUANTILE = 0.02
"""Which part of the days of a slot the low quantile leaves below: floor(QUANTILE days) of them."""
GRAIN = 0.01
"""What the low quantile is rounded to, in levels."""
SLOPE = 1.7
"""By how much a mean day rises where the low quantile does."""
FREE_LEAST = 60
"""The least days of history that aggregate variations tell anything reliable from."""
BASE_LEVEL = (0.3, 0.5)
"""a and b: the least reading over so many days is about a (28/days)^b levels."""
PATTERN = (
    Pattern(n_epsilon=10, size=3, radius=0.2, scale=1.0, fill=1.0, distance=0.2, error=0.1979),
    Pattern(n_epsilon=22.6, size=3, radius=0.4, scale=1.0, fill=1.0, distance=0.2, error=0.1676),
    Pattern(n_epsilon=50, size=5, radius=0.4, scale=1.0, fill=0.5, distance=None, error=0.1396),
    Pattern(n_epsilon=100, size=5, radius=0.9, scale=1.3, fill=0.5, distance=None, error=0.1018),
    Pattern(n_epsilon=226, size=7, radius=0.9, scale=1.3, fill=0.5, distance=None, error=0.069),
    Pattern(n_epsilon=500, size=11, radius=1.2, scale=1.3, fill=0.0, distance=None, error=0.0479),
    Pattern(n_epsilon=1000, size=11, radius=1.6, scale=1.6, fill=0.0, distance=None, error=0.0294),
    Pattern(n_epsilon=2260, size=15, radius=2.2, scale=1.6, fill=0.0, distance=None, error=0.0192),
    Pattern(n_epsilon=5000, size=17, radius=2.2, scale=1.6, fill=0.0, distance=None, error=0.012),
    Pattern(n_epsilon=22600, size=17, radius=3.0, scale=2.0, fill=0.0, distance=None, error=0.0084),
)
"""The pattern layer of a mean, by n times epsilon."""
FREE = (
    FreeRow(days=90, blend=0.5, low=0.3, fill=0.5, mismatch=0.186, error=0.0717, most=226),
    FreeRow(days=350, blend=0.75, low=0.6, fill=0.25, mismatch=0.156, error=0.0547, most=1000),
)
"""What exact variations add to it, by days of history."""
BASE_LOAD = (
    BaseLoad(n_epsilon=10, size=1, radius=0.1, scale=1.0, error=0.0824),
    BaseLoad(n_epsilon=22.6, size=3, radius=0.15, scale=1.25, error=0.068),
    BaseLoad(n_epsilon=50, size=5, radius=0.2, scale=1.25, error=0.052),
    BaseLoad(n_epsilon=100, size=5, radius=0.3, scale=1.5, error=0.0383),
    BaseLoad(n_epsilon=226, size=7, radius=0.4, scale=1.5, error=0.0297),
    BaseLoad(n_epsilon=500, size=7, radius=0.6, scale=2.0, error=0.0225),
    BaseLoad(n_epsilon=1000, size=11, radius=0.9, scale=2.5, error=0.018),
    BaseLoad(n_epsilon=2260, size=13, radius=1.2, scale=2.5, error=0.0133),
    BaseLoad(n_epsilon=5000, size=17, radius=1.6, scale=2.5, error=0.0099),
    BaseLoad(n_epsilon=22600, size=17, radius=1.6, scale=2.5, error=0.008),
)
"""The pattern layer of a minimum, by n times epsilon."""
DAY = (
    Day(n_epsilon=10, size=1, radius=0.6, error=0.2814),
    Day(n_epsilon=22.6, size=1, radius=0.9, error=0.2092),
    Day(n_epsilon=50, size=1, radius=1.2, error=0.1752),
    Day(n_epsilon=100, size=5, radius=1.2, error=0.1457),
    Day(n_epsilon=226, size=5, radius=1.6, error=0.1092),
    Day(n_epsilon=500, size=11, radius=2.0, error=0.0879),
    Day(n_epsilon=1000, size=11, radius=3.0, error=0.0678),
    Day(n_epsilon=2260, size=17, radius=4.0, error=0.053),
    Day(n_epsilon=5000, size=17, radius=4.0, error=0.0443),
    Day(n_epsilon=22600, size=17, radius=6.0, error=0.0405),
)
"""The cycle layer at the end of the day, by n times epsilon."""
BLOCKS = (
    Blocks(n_epsilon=10, blocks=2, radius=0.4, error=0.3862),
    Blocks(n_epsilon=22.6, blocks=2, radius=0.9, error=0.2745),
    Blocks(n_epsilon=50, blocks=2, radius=1.2, error=0.1924),
    Blocks(n_epsilon=100, blocks=2, radius=1.6, error=0.1603),
    Blocks(n_epsilon=226, blocks=4, radius=1.6, error=0.1384),
    Blocks(n_epsilon=500, blocks=8, radius=2.0, error=0.1136),
    Blocks(n_epsilon=1000, blocks=8, radius=2.5, error=0.0941),
    Blocks(n_epsilon=2260, blocks=16, radius=3.0, error=0.0712),
    Blocks(n_epsilon=5000, blocks=16, radius=4.0, error=0.0585),
    Blocks(n_epsilon=22600, blocks=16, radius=6.0, error=0.0521),
)
"""The cycle layer block by block, by n times epsilon."""
CLIP = (
    Clip(n_epsilon=10, clip=0.1, error=0.7063),
    Clip(n_epsilon=22.6, clip=0.1, error=0.4833),
    Clip(n_epsilon=50, clip=0.1, error=0.4268),
    Clip(n_epsilon=100, clip=0.3, error=0.3721),
    Clip(n_epsilon=226, clip=0.8, error=0.2688),
    Clip(n_epsilon=500, clip=1.2, error=0.1808),
    Clip(n_epsilon=1000, clip=2.0, error=0.1357),
    Clip(n_epsilon=2260, clip=3.0, error=0.0872),
    Clip(n_epsilon=5000, clip=4.0, error=0.0525),
    Clip(n_epsilon=22600, clip=6.0, error=0.0183),
)
"""The cycle layer slot by slot, by n times epsilon."""
