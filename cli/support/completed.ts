import { asTyped, COMMAND, forDeployment, isCrmExport, namesDeployment } from '../../core/commands.ts';
import { placeOptions, quoted } from './command-options.ts';
import type { TargetOptions } from './target.ts';

/** The commands of a text with the options by which the deployment was found, whole enough to be pasted. */
export function completed(text: string, place: TargetOptions): string {
  return asTyped(text).replace(COMMAND, (command) => {
    if (namesDeployment(command)) return command;
    if (isCrmExport(command)) return `${command} ${placeOptions(place)}`;
    const { deployment, endpointUrl, ...account } = place;
    if (command.startsWith('aws ')) return withOptions(command, placeOptions({ ...account, endpointUrl }));
    const named = forDeployment(command, deployment);
    // Without it, what is meant for a local cloud is deployed to the account of the person.
    const endpoint = endpointUrl ? `AWS_ENDPOINT_URL=${quoted(endpointUrl)} ` : '';
    return `${endpoint}${withOptions(named, placeOptions(account))}`;
  });
}

/** Options that the command has already are not repeated. */
function withOptions(command: string, options: string): string {
  return options === '' || command.endsWith(` ${options}`) ? command : `${command} ${options}`;
}

/** An advice with each of its commands on a line of its own. */
export function adviceLines(advice: string): string[] {
  const prose = advice.split(COMMAND);
  const commands = advice.match(COMMAND) ?? [];
  return prose.flatMap((text, index) => {
    const words = text.replace(/^[.,;)]+/, '').trim();
    const command = commands[index];
    return [...(words ? [begun(words)] : []), ...(command ? [command] : [])];
  });
}

/** A text begins like a sentence, unless it begins with a name: `leads-verify-1 is published`. */
export function begun(text: string): string {
  return /^[a-z]+:? /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
