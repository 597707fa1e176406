import { readDeployment, readEnv } from '../config/env.ts';
import { createLog } from '../log/log.ts';
import type { AnyStepName } from './steps.ts';

/** What every handler composes. The configuration lies beside the bundled code, in the same folder. */
export function stepDependencies(step: AnyStepName) {
  const deployment = readDeployment(new URL('deployment.json', import.meta.url));
  const { DEPLOYMENT } = readEnv(process.env, 'DEPLOYMENT');
  return { deployment, log: createLog(step, DEPLOYMENT), now: () => new Date(), random: Math.random };
}
