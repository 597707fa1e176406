import { expect, test } from 'vitest';
import { UPDATE_STEPS } from '../../../core/step/steps.ts';
import { updatingDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { resolved } from '../../../scripts/template.ts';
import { allOf, oneOf } from '../support/template.ts';

const json = synthesise(updatingDeployment());

test('customer updates exist only if the configuration asks for them', () => {
  const without = synthesise();
  const addedOf = (type: string) => {
    const before = new Set(allOf(without, type).map(([id]) => id));
    return allOf(json, type).filter(([id]) => !before.has(id));
  };

  expect(addedOf('AWS::Lambda::Function').map(([, { Properties }]) => Properties.FunctionName)).toEqual(
    Object.keys(UPDATE_STEPS).map((step) => `crm-export-example-${step}`),
  );
  expect(addedOf('AWS::StepFunctions::StateMachine')).toHaveLength(1);
  expect(JSON.stringify(without)).not.toMatch(/CustomerUpdates|UpdatesStateMachineArn/);
});

test('the machine CustomerUpdates is a standard one, and an output names it', () => {
  const [id, { Properties }] = oneOf(json, 'AWS::StepFunctions::StateMachine', 'CustomerUpdates');

  expect(Properties.StateMachineName).toBe('crm-export-example-CustomerUpdates');
  expect(Properties.StateMachineType ?? 'STANDARD').toBe('STANDARD');
  expect(resolved(json.Outputs.UpdatesStateMachineArn?.Value)).toBe(id);
});
