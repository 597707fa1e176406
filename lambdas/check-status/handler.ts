import { crmFromEnv } from '../../core/crm/crm-from-env.ts';
import { asStep } from '../../core/step/export-run.ts';
import type { Connect } from '../../core/step/step.ts';
import { type CheckStatusDeps, checkStatus } from './check-status.ts';

export const connect: Connect<CheckStatusDeps> = () => {
  const crm = crmFromEnv();
  return (invocation) => ({ ...invocation, crm: crm(invocation) });
};

/** State CheckStatus of the machine ExportRun: reads the status of the export once, and stores no data. */
export const handler = asStep('CheckStatus', checkStatus, connect);
