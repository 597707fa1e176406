import { asTyped, COMMAND, forDeployment, isCrmExport, namesDeployment } from '../../core/commands.ts';
import { placeOptions, quoted } from './command-options.ts';
import type { TargetOptions } from './target.ts';

/** Adds the options of the deployment to all commands in a text, so that they can be pasted. */
export function withPlace(text: string, place: TargetOptions): string {
  return asTyped(text).replace(COMMAND, (command) => {
    if (namesDeployment(command)) return command;
    if (isCrmExport(command)) return `${command} ${placeOptions(place)}`;
    const { deployment, endpointUrl, ...account } = place;
    if (command.startsWith('aws ')) return withOptions(command, placeOptions({ ...account, endpointUrl }));
    const named = forDeployment(command, deployment);
    // Without AWS_ENDPOINT_URL, the command would deploy to the user's AWS account instead of the local cloud.
    const endpoint = endpointUrl ? `AWS_ENDPOINT_URL=${quoted(endpointUrl)} ` : '';
    return `${endpoint}${withOptions(named, placeOptions(account))}`;
  });
}

/** Adds options that the command does not have yet. */
function withOptions(command: string, options: string): string {
  return options === '' || command.endsWith(` ${options}`) ? command : `${command} ${options}`;
}

/** Advice as lines, with each command on a line of its own. */
export function adviceLines(advice: string): string[] {
  const prose = advice.split(COMMAND);
  const commands = advice.match(COMMAND) ?? [];
  return prose.flatMap((text, index) => {
    const words = text.replace(/^[.,;)]+/, '').trim();
    const command = commands[index];
    return [...(words ? [capitalized(words)] : []), ...(command ? [command] : [])];
  });
}

/** Capitalizes a sentence, unless it begins with a name: `leads-verify-1 is published`. */
export function capitalized(text: string): string {
  return /^[a-z]+:? /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
