import type { Clients } from '../support/clients.ts';

const calls = new WeakMap<Error, string>();

/** Calls whose right has another name. */
const RIGHTS: Record<string, string> = {
  's3:HeadObject': 's3:GetObject',
  's3:DeleteObject': 's3:DeleteObjectVersion',
  's3:ListObjectVersions': 's3:ListBucketVersions',
};
const SERVICES: Partial<Record<keyof Clients, string>> = {
  sfn: 'states',
  dynamo: 'dynamodb',
  secrets: 'secretsmanager',
};

/** Makes the error of every later call say which right it needs: AWS does not always name it. */
export function nameCalls(clients: Clients, names: (keyof Clients)[]): void {
  for (const name of names) {
    const note = (error: unknown, command = '') => {
      const call = `${SERVICES[name] ?? name}:${command.replace(/Command$/, '')}`;
      if (error instanceof Error) calls.set(error, RIGHTS[call] ?? call);
      return error;
    };
    // All clients have it, each with types of its own.
    const { middlewareStack } = clients[name] as Clients['sfn'];
    middlewareStack.add(
      (next, { commandName }) =>
        (args) =>
          next(args).catch((error: unknown) => Promise.reject(note(error, commandName))),
      { step: 'initialize', name: 'nameCalls', override: true },
    );
  }
}

/** The right that the failed call needs, such as `events:PutRule`. */
export function callOf(error: unknown): string | undefined {
  return error instanceof Error ? calls.get(error) : undefined;
}
