import { type Command, InvalidArgumentError } from 'commander';

/** The options by which every command finds its deployment. */
export function withTargetOptions(
  command: Command,
  which = 'as in config/NAME.json; default: CRM_EXPORT_DEPLOYMENT, or the only one there is',
): Command {
  return command
    .option('--deployment <name>', which, notEmpty)
    .option('--profile <name>', 'AWS profile to use', notEmpty)
    .option('--region <name>', 'AWS region of the stack', notEmpty)
    .option('--endpoint-url <url>', 'a local cloud instead of AWS; also from AWS_ENDPOINT_URL', notEmpty);
}

/** `--deployment "$NAME"` without that variable must not mean the default. */
function notEmpty(text: string): string {
  if (text === '') throw new InvalidArgumentError('It is empty.');
  return text;
}
