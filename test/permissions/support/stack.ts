import { fullDeployment } from '../../../scripts/deployments.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { Names } from './arns.ts';
import { policiesOf } from './policies.ts';

/** The largest stack that there is, as it goes to AWS: template, names and policies. */
export function wholeStack() {
  const template = synthesise(fullDeployment());
  const names = new Names(template);
  return { template, names, policies: policiesOf(template, names) };
}

/** The role of a function, by the name of its step. */
export function roleOfStep(names: Names, step: string): string {
  return names.arn(names.id('AWS::IAM::Role', `${step}Role`));
}
