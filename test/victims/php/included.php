<?php
// SPDX-License-Identifier: Apache-2.0
spin(200000);
