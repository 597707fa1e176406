import { readEnv } from '../../core/config/env.ts';
import { crmFromEnv } from '../../core/crm/compose.ts';
import { asStep } from '../../core/step/export-run.ts';
import { createExport } from './create-export.ts';

/** State CreateExport of the machine ExportRun: checks the input and leaves an export at the CRM. */
export const handler = asStep('CreateExport', createExport, () => {
  const crm = crmFromEnv();
  const { SOFTWARE_VERSION: softwareVersion } = readEnv(process.env, 'SOFTWARE_VERSION');
  return (invocation) => ({ ...invocation, crm: crm(invocation), softwareVersion });
});
