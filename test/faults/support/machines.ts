import type { InvokedName } from '../../../core/step/steps.ts';
import { fullDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { type Definition, definitionOf } from '../../../scripts/template.ts';

const template = () => synthesise(fullDeployment());

const machines = new Map<string, Definition>();

/** A machine as it is synthesised. */
export function machineOf(name: 'ExportRun' | 'CustomerUpdates'): Definition {
  const machine = machines.get(name) ?? definitionOf(template(), name);
  machines.set(name, machine);
  return machine;
}

const timeouts = new Map<InvokedName, number>();

/** Seconds after which the platform ends a function. */
export function functionTimeout(step: InvokedName): number {
  const timeout = timeouts.get(step) ?? timeoutOf(step);
  timeouts.set(step, timeout);
  return timeout;
}

function timeoutOf(step: string): number {
  const functions = Object.values(template().Resources).filter(({ Type }) => Type === 'AWS::Lambda::Function');
  const named = functions.find(({ Properties }) => Properties.FunctionName === `crm-export-example-${step}`);
  if (!named) throw new Error(`the template has no function ${step}`);
  return named.Properties.Timeout;
}
