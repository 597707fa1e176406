import { GetRolePolicyCommand, paginateListAttachedRolePolicies, paginateListRolePolicies } from '@aws-sdk/client-iam';
import { RESTORE } from '../../support/aws-error.ts';
import { quoted } from '../../support/command-options.ts';
import type { DeployedStack, Resource } from '../deployed-stack.ts';
import { broken, type Finding } from '../finding.ts';
import type { PolicySource, Reading } from './sources.ts';

export const ROLE_RIGHTS = [
  'iam:ListRolePolicies on the roles',
  'iam:GetRolePolicy on the roles',
  'iam:ListAttachedRolePolicies on the roles',
];

/** What is to be compared of a role, and what is found already. */
export interface RolePolicies {
  sources: PolicySource[];
  /** Policies that the template does not give it, and those attached ones that it lacks. */
  findings: Finding[];
}

/** The policies of a role, inline and attached. @throws errors of AWS: where the role is gone, too */
export async function rolePolicies(
  { iam }: Pick<Reading, 'iam'>,
  stack: DeployedStack,
  role: Resource,
  resolved: (value: unknown) => unknown,
): Promise<RolePolicies> {
  const { physicalId: RoleName } = role;
  const what = `role ${RoleName}`;
  const names: string[] = [];
  for await (const { PolicyNames = [] } of paginateListRolePolicies({ client: iam }, { RoleName })) {
    names.push(...PolicyNames);
  }
  const wanted = stack
    .ofType('AWS::IAM::Policy')
    .filter(({ properties }) => [resolved(properties.Roles)].flat().includes(RoleName))
    .map(({ properties }) => ({ name: String(resolved(properties.PolicyName)), document: properties.PolicyDocument }));
  const read = async (PolicyName: string) => {
    if (!names.includes(PolicyName)) return undefined;
    const { PolicyDocument = '' } = await iam.send(new GetRolePolicyCommand({ RoleName, PolicyName }));
    return decodeURIComponent(PolicyDocument);
  };
  const more = names.filter((name) => !wanted.some((one) => one.name === name));
  const remove = `aws iam delete-role-policy --role-name ${RoleName} --policy-name`;
  return {
    sources: wanted.map(({ name, document }) => ({ what, wanted: document, read: () => read(name) })),
    findings: [
      ...more.map((name) =>
        broken(`${what} has a policy ${name} that is not in the template`, `${remove} ${quoted(name)}`),
      ),
      ...attachedFindings(
        RoleName,
        [resolved(role.properties.ManagedPolicyArns ?? [])].flat(),
        await attached(iam, RoleName),
      ),
    ],
  };
}

async function attached(client: Reading['iam'], RoleName: string): Promise<string[]> {
  const arns: string[] = [];
  for await (const { AttachedPolicies = [] } of paginateListAttachedRolePolicies({ client }, { RoleName })) {
    arns.push(...AttachedPolicies.flatMap(({ PolicyArn }) => PolicyArn ?? []));
  }
  return arns;
}

/** @param wanted as a list, whose references are resolved */
function attachedFindings(role: string, wanted: unknown[], live: string[]): Finding[] {
  const detach = `aws iam detach-role-policy --role-name ${role} --policy-arn`;
  const more = live.filter((arn) => !wanted.includes(arn));
  const missing = wanted.filter((arn) => !live.includes(String(arn)));
  return [
    ...more.map((arn) => broken(`role ${role} has ${arn} attached, which is not in the template`, `${detach} ${arn}`)),
    ...missing.map((arn) => broken(`role ${role} does not have ${arn} attached`, `${RESTORE}.`)),
  ];
}
