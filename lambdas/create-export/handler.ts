import { readEnv } from '../../core/config/env.ts';
import { crmDependencies } from '../../core/crm/compose.ts';
import { asStep } from '../../core/step/step.ts';
import { createExport } from './create-export.ts';

/** State CreateExport of the machine ExportRun: checks the input and leaves an export at the service. */
export const handler = asStep('CreateExport', createExport, (invocation) => ({
  ...crmDependencies('CreateExport', invocation),
  softwareVersion: readEnv(process.env, 'SOFTWARE_VERSION').SOFTWARE_VERSION,
}));
