import { crmFromEnv } from '../../core/crm/compose.ts';
import { asStep } from '../../core/step/export-run.ts';
import { checkStatus } from './check-status.ts';

/** State CheckStatus of the machine ExportRun: reads the status of the export once, and leaves nothing behind. */
export const handler = asStep('CheckStatus', checkStatus, () => {
  const crm = crmFromEnv();
  return (invocation) => ({ ...invocation, crm: crm(invocation) });
});
