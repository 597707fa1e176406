import { crmDependencies } from '../shared/compose.ts';
import { asStep } from '../shared/step.ts';
import { checkStatus } from './check-status.ts';

/** State CheckStatus of the machine ExportRun: reads the status of the export once, and leaves nothing behind. */
export const handler = asStep('CheckStatus', checkStatus, (invocation) => crmDependencies('CheckStatus', invocation));
