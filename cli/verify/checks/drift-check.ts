import {
  DescribeStackDriftDetectionStatusCommand,
  DetectStackDriftCommand,
  type PropertyDifference,
  paginateDescribeStackResourceDrifts,
} from '@aws-sdk/client-cloudformation';
import { eachOf } from '../../../core/each-of.ts';
import type { Check } from '../../checks/check.ts';
import { broken, CannotTell, type Finding, holdsUnless } from '../../checks/finding.ts';
import { lookUntil } from '../base/look-until.ts';
import type { Verifying } from '../base/verifying.ts';
import { isNone, KNOWN_DIFFERENCES_RIGHTS } from './known-differences.ts';

/** What was changed by hand; CloudFormation looks at every resource with the rights of whoever asks. */
export const DRIFT_CHECK: Check<Verifying> = {
  id: 'drift',
  question: 'Does CloudFormation find the stack in the account as it was deployed?',
  rights: [
    'cloudformation:DetectStackDrift on the stack',
    'cloudformation:DescribeStackDriftDetectionStatus on `*`: AWS knows no resource for it',
    'cloudformation:DescribeStackResourceDrifts on the stack',
    ...KNOWN_DIFFERENCES_RIGHTS,
  ],
  look: drift,
};

async function drift(verifying: Verifying): Promise<Finding> {
  const { cloudformation, stack: StackName } = verifying.target;
  const { StackDriftDetectionId } = await cloudformation.send(new DetectStackDriftCommand({ StackName }));
  const status = await lookUntil(
    () => cloudformation.send(new DescribeStackDriftDetectionStatusCommand({ StackDriftDetectionId })),
    ({ DetectionStatus }) => DetectionStatus !== 'DETECTION_IN_PROGRESS',
    verifying,
  );
  const { DetectionStatus, DetectionStatusReason, StackDriftStatus } = status;
  if (DetectionStatus === 'DETECTION_IN_PROGRESS') throw new CannotTell('CloudFormation was still comparing');
  const { changed, none, unseen } = await changes(verifying);
  if (unseen !== undefined && changed.length === 0) throw unseen;
  const nothing = changed.length === 0 && none.length === 0;
  if (DetectionStatus === 'DETECTION_FAILED' && changed.length === 0) {
    throw new CannotTell(
      `CloudFormation could not look at every resource: ${DetectionStatusReason ?? 'it does not say why'}`,
    );
  }
  if (nothing && StackDriftStatus !== 'IN_SYNC') return broken(`the stack is ${StackDriftStatus}`, 'Look again.');
  const reported = none.length > 0 ? `; it reports ${none.length} differences that are none: ${none.join(', ')}` : '';
  return holdsUnless(changed, `CloudFormation finds nothing that was changed by hand${reported}`);
}

/** What was changed, the differences that are none, and the error for which one could not be told. */
async function changes({ target }: Verifying): Promise<{ changed: string[]; none: string[]; unseen: unknown }> {
  const changed: string[] = [];
  const none: string[] = [];
  let unseen: unknown;
  const untold = (error: unknown) => {
    unseen = error;
    return undefined;
  };
  const look = { StackName: target.stack, StackResourceDriftStatusFilters: ['MODIFIED' as const, 'DELETED' as const] };
  for await (const page of paginateDescribeStackResourceDrifts({ client: target.cloudformation }, look)) {
    for (const one of page.StackResourceDrifts ?? []) {
      const { LogicalResourceId, StackResourceDriftStatus, PropertyDifferences = [] } = one;
      const judged = await eachOf(PropertyDifferences, async (difference) => {
        return { difference, none: await isNone(one, difference, target).catch(untold) };
      });
      const real = judged.filter((each) => each.none === false).map(({ difference }) => text(difference));
      const others = judged.filter((each) => each.none !== false);
      none.push(
        ...others.filter((each) => each.none).map(({ difference }) => `${nameOf(difference)} of ${LogicalResourceId}`),
      );
      if (real.length === 0 && others.length > 0) continue;
      changed.push([`${LogicalResourceId} is ${StackResourceDriftStatus}`, real.join(', ')].filter(Boolean).join(': '));
    }
  }
  return { changed, none, unseen };
}

function nameOf({ PropertyPath }: PropertyDifference): string | undefined {
  return PropertyPath?.split('/').at(-1);
}

/** `MemorySize is 1024, in the template 256`. */
function text({ PropertyPath = '', ExpectedValue, ActualValue, DifferenceType }: PropertyDifference): string {
  // Whatever was put there by hand may be a secret.
  const shown = (value = '') => (/Environment|Secret|Password/i.test(PropertyPath) ? '(not shown)' : cut(value));
  const is = DifferenceType === 'REMOVE' ? 'missing' : shown(ActualValue);
  const wanted = DifferenceType === 'ADD' ? 'not in the template' : `in the template ${shown(ExpectedValue)}`;
  return `${PropertyPath.slice(1)} is ${is}, ${wanted}`;
}

function cut(value: string): string {
  return value.length > 100 ? `${value.slice(0, 100)}…` : value;
}
