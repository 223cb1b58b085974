import type { Adapter, AdapterContext } from '../../adapters/adapter.ts';
import { type Catalog, loadCatalog } from '../../catalog/index.ts';
import { createPriceBook } from '../../catalog/price-book.ts';
import { type Config, readConfig } from '../config.ts';
import { AppError, asAppError } from '../errors.ts';
import { createContext } from './context.ts';
import { openProduct, type Product } from './product.ts';

const MEMORY = 'memory:';

/** Validates configuration and catalogue, and with `online` the credentials; true when nothing is wrong. */
export async function runCheck(online: boolean): Promise<boolean> {
  const lines: string[] = [];
  const config = attempt('configuration', lines, readConfig);
  const catalog = attempt('catalogue', lines, () => readWhole(config?.catalogDirectory));
  if (config !== undefined && catalog !== undefined) lines.push(...regionProblems(config.region, catalog));
  if (config !== undefined && lines.length === 0) lines.push(...(await checkServices(config, online)));
  for (const line of lines) process.stdout.write(`✗ ${line}\n`);
  if (lines.length > 0 || config === undefined) return false;
  const names = config.platforms.map(({ name }) => name).join(', ');
  process.stdout.write(
    `✓ configuration, catalogue and store are in order; platforms: ${names || 'none, chat in the terminal'}\n`,
  );
  return true;
}

/** With the lists that are otherwise read on first use, which would be in somebody's conversation. */
function readWhole(directory: string | undefined): Catalog {
  const catalog = loadCatalog(directory);
  const { datasets, ambiguousDatasets, recipes, accuracy } = catalog;
  for (const list of [datasets, ambiguousDatasets, recipes, accuracy]) list.at(0);
  return catalog;
}

/** A region of no price row answers every question with "not in this region". */
function regionProblems(region: string, { prices }: Catalog): readonly string[] {
  const known = createPriceBook(prices).regions();
  return known.includes(region) ? [] : [`configuration: REGION: no prices for ${region}; known: ${known.join(', ')}`];
}

function attempt<T>(what: string, lines: string[], run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    const { message } = asAppError(error);
    lines.push(...message.split('\n').map((line) => `${what}: ${line}`));
    return undefined;
  }
}

async function checkServices(config: Config, online: boolean): Promise<readonly string[]> {
  try {
    const product = await openProduct({ ...config, logLevel: 'silent' }, config.databaseUrl ?? MEMORY);
    try {
      await product.store.ping();
      return online ? await checkPlatforms(config, product) : [];
    } finally {
      await product.close();
    }
  } catch (error) {
    return [`store: ${asAppError(error).message}`];
  }
}

async function checkPlatforms(config: Config, product: Product): Promise<readonly string[]> {
  const found = await Promise.all(
    config.platforms.map(async ({ name, setup }) => {
      const adapter = await setup.create(contextOf(name, product));
      return (await problemsOf(adapter)).map((problem) => `${name}: ${problem}`);
    }),
  );
  return found.flat();
}

function contextOf(name: string, product: Product): AdapterContext {
  const accept = async (): Promise<never> => {
    throw new AppError('internal', 'a check receives nothing');
  };
  return createContext(name, { ...product, accept });
}

async function problemsOf(adapter: Adapter): Promise<readonly string[]> {
  try {
    return await adapter.check();
  } catch (error) {
    return [asAppError(error).message];
  }
}
