/** A command in a text: it ends with its sentence, or part of one. Values that are quoted for a shell may hold any mark. */
export const COMMAND =
  /(?:npx --no crm-export [a-z]|(?:AWS_ENDPOINT_URL=\S{1,300} )?npx cdk [a-z]|aws [a-z0-9]+ [a-z-]+ -)(?:(?<=\s)'[^'\n]*'(?:\\''[^'\n]*')*|(?<=\s)"[^"\n]*"|.)*?(?=[.,;)]+(?:\s|$)|$)/gm;

export const namesDeployment = (command: string) => / --deployment |-c deployment=/.test(command);

/** The commands of a text with the name of the deployment, where they take one and have none. */
export function forDeployment(text: string, deployment: string): string {
  return text.replace(COMMAND, (command) => {
    if (namesDeployment(command)) return command;
    if (command.startsWith('npx --no ')) return `${command} --deployment ${deployment}`;
    return command.replace(/^npx cdk \S+/, (cdk) => `${cdk} -c deployment=${deployment}`);
  });
}
