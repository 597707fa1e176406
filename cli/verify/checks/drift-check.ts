import {
  DescribeStackDriftDetectionStatusCommand,
  DetectStackDriftCommand,
  paginateDescribeStackResourceDrifts,
} from '@aws-sdk/client-cloudformation';
import type { Check } from '../../checks/check.ts';
import { broken, CannotTell, type Finding, holdsUnless } from '../../checks/finding.ts';
import { lookUntil } from '../base/look-until.ts';
import type { Verifying } from '../base/verifying.ts';

/** What was changed by hand; CloudFormation looks at every resource with the rights of whoever asks. */
export const DRIFT_CHECK: Check<Verifying> = {
  id: 'drift',
  question: 'Does CloudFormation find the stack in the account as it was deployed?',
  rights: [
    'cloudformation:DetectStackDrift on the stack',
    'cloudformation:DescribeStackDriftDetectionStatus on `*`: AWS knows no resource for it',
    'cloudformation:DescribeStackResourceDrifts on the stack',
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
  const changed = await changes(verifying);
  if (DetectionStatus === 'DETECTION_FAILED' && changed.length === 0) {
    throw new CannotTell(
      `CloudFormation could not look at every resource: ${DetectionStatusReason ?? 'it does not say why'}`,
    );
  }
  if (changed.length === 0 && StackDriftStatus !== 'IN_SYNC')
    return broken(`the stack is ${StackDriftStatus}`, 'Look again.');
  return holdsUnless(changed, 'CloudFormation finds nothing that was changed by hand');
}

/** Properties by their names: values may be anything. */
async function changes({ target }: Verifying): Promise<string[]> {
  const changed: string[] = [];
  const look = { StackName: target.stack, StackResourceDriftStatusFilters: ['MODIFIED' as const, 'DELETED' as const] };
  for await (const page of paginateDescribeStackResourceDrifts({ client: target.cloudformation }, look)) {
    for (const one of page.StackResourceDrifts ?? []) {
      const paths = (one.PropertyDifferences ?? []).map(({ PropertyPath }) => PropertyPath).join(', ');
      changed.push(`${one.LogicalResourceId} is ${one.StackResourceDriftStatus}${paths ? ` (${paths})` : ''}`);
    }
  }
  return changed;
}
