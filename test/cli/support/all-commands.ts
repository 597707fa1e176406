import { LOADERS } from '../../../cli/loaders.ts';
import { useLoaders } from './run-cli.ts';

/** For tests that run many commands: such a file imports the whole program. */
export const useAllCommands = (): void => useLoaders(LOADERS);
