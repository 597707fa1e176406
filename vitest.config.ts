import { configDefaults, defineConfig } from 'vitest/config';

const SECONDS = 1000;

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'test/e2e/**', 'test/long/**'],
          testTimeout: 30 * SECONDS,
          hookTimeout: 60 * SECONDS,
        },
      },
      {
        // The stack deployed to a local cloud: minutes at most, on two cores.
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 120 * SECONDS,
          hookTimeout: 180 * SECONDS,
        },
      },
      {
        // What takes longer: npm run test:long.
        test: { name: 'long', include: ['test/long/**/*.test.ts'], testTimeout: 600 * SECONDS },
      },
    ],
  },
});
