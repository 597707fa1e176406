import { GetTemplateCommand } from '@aws-sdk/client-cloudformation';
import * as z from 'zod/mini';
import { parseJson } from '../../core/json.ts';
import { awsErrorText } from './aws-error.ts';
import { CommandError, ENVIRONMENT } from './exit.ts';
import type { Target } from './target.ts';

const templateSchema = z.object({
  Metadata: z.optional(z.record(z.string(), z.unknown())),
  Resources: z.record(
    z.string(),
    z.object({ Type: z.string(), Properties: z._default(z.record(z.string(), z.unknown()), {}) }),
  ),
});

/**
 * The template that CloudFormation was given last, whatever this checkout would deploy. It has no transforms, so it is one text in
 * every stage.
 * @throws CommandError (exit code 3)
 */
export async function readTemplate({ cloudformation, stack }: Pick<Target, 'cloudformation' | 'stack'>) {
  const command = new GetTemplateCommand({ StackName: stack, TemplateStage: 'Original' });
  const { TemplateBody } = await cloudformation.send(command).catch((error: unknown) => {
    const trouble = awsErrorText(error);
    throw trouble === undefined ? error : new CommandError(trouble, ENVIRONMENT, { cause: error });
  });
  const template = parseJson(templateSchema, TemplateBody);
  if (!template) throw new CommandError(`The template of ${stack} cannot be read: deploy it again.`, ENVIRONMENT);
  return template;
}
