import type { Check } from '../checks/check.ts';
import { RULES } from '../checks/rules.ts';
import type { Verifying } from './base/verifying.ts';
import { ALARM_CHECKS } from './checks/alarm-checks.ts';
import { DASHBOARD_CHECK } from './checks/dashboard-check.ts';
import { DRIFT_CHECK } from './checks/drift-check.ts';
import { EXPORT_CHECKS } from './checks/export-checks.ts';
import { FUNCTION_CHECK } from './checks/function-check.ts';
import { GRANT_CHECK } from './checks/grant-check.ts';
import { INPUT_CHECKS } from './checks/input-checks.ts';
import { LOG_CHECK } from './checks/log-check.ts';
import { METRIC_CHECKS } from './checks/metric-checks.ts';
import { REFUSED_PUTS } from './checks/refused-puts.ts';
import { RULE_START } from './checks/rule-start.ts';
import { STORAGE_CHECKS } from './checks/storage-checks.ts';
import { TRACE_CHECK } from './checks/trace-check.ts';
import { UNDELIVERED_STARTS } from './checks/undelivered-starts.ts';
import { UPDATE_CHECK } from './checks/update-check.ts';

/** All checks in the order in which they are shown; they are made at the same time. */
export const ALL_CHECKS: Check<Verifying>[] = [
  ...EXPORT_CHECKS,
  LOG_CHECK,
  TRACE_CHECK,
  ...INPUT_CHECKS,
  ...STORAGE_CHECKS,
  ...REFUSED_PUTS,
  ...METRIC_CHECKS,
  DASHBOARD_CHECK,
  ...ALARM_CHECKS,
  RULES,
  UNDELIVERED_STARTS,
  RULE_START,
  FUNCTION_CHECK,
  GRANT_CHECK,
  DRIFT_CHECK,
  UPDATE_CHECK,
];
