import { LOADERS } from '../../../cli/loaders.ts';
import { useLoaders } from './run-cli.ts';

/** For tests that run many commands: a file with this import loads the whole program. */
export const useAllCommands = (): void => useLoaders(LOADERS);
