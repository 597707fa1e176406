import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import * as z from 'zod/mini';
import type { Check } from '../../checks/check.ts';
import { type Resource, textOf } from '../../checks/deployed-stack.ts';
import { type Finding, holdsUnless } from '../../checks/finding.ts';
import type { Verifying } from '../base/verifying.ts';

export const FUNCTION_CHECK: Check<Verifying> = {
  id: 'functions',
  question: 'Is every function behind its alias as in the template?',
  rights: ['lambda:GetFunctionConfiguration on the functions'],
  look: functions,
};

const functionSchema = z.object({
  Runtime: z.string(),
  Architectures: z.array(z.string()),
  MemorySize: z.number(),
  Timeout: z.number(),
});
const referenceSchema = z.object({ Ref: z.string() });
const versionSchema = z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) });

async function functions(verifying: Verifying): Promise<Finding> {
  const { stack } = verifying;
  const aliases = stack.ofType('AWS::Lambda::Alias');
  const all = stack.ofType('AWS::Lambda::Function');
  const wrong = all.length === 0 ? ['the stack has no function'] : [];
  for (const one of all) {
    const alias = aliases.find(
      ({ properties }) => referenceSchema.safeParse(properties.FunctionName).data?.Ref === one.logicalId,
    );
    if (alias) wrong.push(...(await unlike(verifying, one, alias)));
    else wrong.push(`${one.physicalId} has no alias`);
  }
  return holdsUnless(
    wrong,
    `${all.length} functions have runtime, architecture, memory, time limit and alias of the template`,
  );
}

/** What the machine invokes is the version that the alias names. */
async function unlike({ target, stack }: Verifying, one: Resource, alias: Resource): Promise<string[]> {
  const { physicalId: FunctionName, properties } = one;
  const live = await target.lambda.send(
    new GetFunctionConfigurationCommand({ FunctionName, Qualifier: textOf(alias, 'Name') }),
  );
  const wanted = functionSchema.parse(properties);
  const of = versionSchema.safeParse(alias.properties.FunctionVersion).data?.['Fn::GetAtt'][0];
  const version = stack.ofType('AWS::Lambda::Version').find(({ logicalId }) => logicalId === of);
  const pairs: [what: string, is: unknown, want: unknown][] = [
    ['runtime', live.Runtime, wanted.Runtime],
    ['architecture', live.Architectures?.join(), wanted.Architectures.join()],
    ['memory', live.MemorySize, wanted.MemorySize],
    ['time limit', live.Timeout, wanted.Timeout],
    ['version behind the alias', live.Version, version?.physicalId.split(':').at(-1)],
  ];
  return pairs.flatMap(([what, is, want]) =>
    is === want ? [] : [`${FunctionName}: ${what} is ${is}, in the template ${want}`],
  );
}
