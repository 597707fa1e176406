import { crmDependencies } from '../shared/compose.ts';
import { readEnv } from '../shared/env.ts';
import { asStep } from '../shared/step.ts';
import { createExport } from './create-export.ts';

/** State CreateExport of the machine ExportRun: checks the input and leaves an export at the service. */
export const handler = asStep('CreateExport', createExport, (invocation) => ({
  ...crmDependencies('CreateExport', invocation),
  softwareVersion: readEnv(process.env, 'SOFTWARE_VERSION').SOFTWARE_VERSION,
}));
