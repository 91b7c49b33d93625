# SPDX-License-Identifier: Apache-2.0
main::spin(20000);
1;
