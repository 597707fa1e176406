/** The operator's command in a checkout. `--no` forbids npx to install; `--` ends the options of npx. */
const IN_CHECKOUT = 'npx --no -- crm-export';

/** The operator's command in messages: `cli/main.js` sets the variable after `npm link`. */
export const CRM_EXPORT = process.env.CRM_EXPORT_COMMAND ?? IN_CHECKOUT;

/** Matches a command in a text, up to the end of its clause. Quoted arguments may contain any characters. */
export const COMMAND = new RegExp(
  String.raw`(?:${CRM_EXPORT} [a-z]|(?:AWS_ENDPOINT_URL=\S{1,300} )?npx cdk [a-z]|aws [a-z0-9]+ [a-z-]+ -)(?:(?<=\s)'[^'\n]*'(?:\\''[^'\n]*')*|(?<=\s)"[^"\n]*"|.)*?(?=[.,;)]+(?:\s|$)|$)`,
  'gm',
);

/** Replaces the name of the command that functions store by the name that the user types. */
export const asTyped = (text: string) => text.replaceAll(IN_CHECKOUT, CRM_EXPORT);

export const isCrmExport = (command: string) => command.startsWith(CRM_EXPORT);

export const namesDeployment = (command: string) => / --deployment |-c deployment=/.test(command);

/** Adds the option for the deployment to those commands in a text that need it and lack it. */
export function forDeployment(text: string, deployment: string): string {
  return text.replace(COMMAND, (command) => {
    if (namesDeployment(command)) return command;
    if (isCrmExport(command)) return `${command} --deployment ${deployment}`;
    return command.replace(/^npx cdk \S+/, (cdk) => `${cdk} -c deployment=${deployment}`);
  });
}
