import type { Catalog } from '../../catalog/index.ts';
import { type Belief, beliefs } from '../advice/beliefs.ts';
import type { BeliefId } from '../understanding/understanding.ts';

/** What the message was heard to claim → the fact that puts it right. */
const FACT_OF: Readonly<Record<BeliefId, string>> = {
  'amp-halves-memory': 'amp-does-not-halve',
  'gpus-pool-memory': 'gpu-memory-does-not-add-up',
  'h20-domestic': 'h20-is-not-domestic',
  'domestic-wanted': 'h20-is-not-domestic',
  't4-cheapest': 't4-is-not-cheapest',
  'subscription-always-cheaper': 'subscription-needs-480-hours',
  'system-disk-category': 'system-disk-dot-category',
  'image-date': 'image-ids-change',
  'pl3-needed': 'pl3-is-rarely-needed',
  'no-bf16': 'no-bf16-before-ampere',
  'no-tf32': 'no-bf16-before-ampere',
  'eas-for-training': 'eas-serves',
  'what-amp': 'amp-is',
  'what-checkpointing': 'checkpointing-is',
  'what-accumulation': 'accumulation-is',
  'what-spot': 'spot-is',
};

/** Facts that need no source but the vendor's family list, worded from the catalogue itself. */
const CATALOGUE = 'Alibaba Cloud documentation and ECS API catalogue';
const SIMILAR_TYPES = 3;

/** Facts for the beliefs that a message states, each once. */
export function factsFor(ids: readonly BeliefId[], catalog: Catalog): readonly Belief[] {
  const facts = ids.flatMap((id) => factFor(id, catalog) ?? []);
  return [...new Map(facts.map((fact) => [fact.id, fact])).values()];
}

function factFor(id: BeliefId, catalog: Catalog): Belief | undefined {
  if (id === 'ram-adds-to-vram') return RAM;
  const [kind, name = ''] = id.split(':');
  if (kind === 'family') return knownFact(name) ?? familyFact(name, catalog);
  if (kind === 'closing') return closingFact(name, catalog);
  if (kind === 'asked') return familyFact(name, catalog);
  if (kind === 'right') return familyFact(name, catalog, 'family-is-so');
  if (kind === 'instance') return knownFact(name) ?? instanceFact(name, catalog);
  return beliefs.find((belief) => belief.id === (FACT_OF[id] ?? id));
}

/** A fact that was written down for this family or type: its id begins with the name. */
function knownFact(name: string): Belief | undefined {
  const key = name.replace(/^ecs\./, '').replace(/\./g, '-');
  return beliefs.find(({ id }) => id.startsWith(`${key}-is`));
}

const RAM: Belief = {
  id: 'ram-is-not-vram',
  believed: 'host memory adds to GPU memory',
  values: {},
  source: 'CUDA programming guide: tensors of a training step live in device memory',
  checkedOn: '2026-11-30',
};

function familyFact(family: string, catalog: Catalog, id = 'family-is'): Belief {
  const row = catalog.instances.find((instance) => instance.family === family);
  if (row === undefined) return fact('family-unknown', { family }, '2026-11-30');
  const memory = row.gpuMemoryGB === null ? '' : ` ${row.gpuMemoryGB} GB`;
  const name = row.gpu.replace(/^NVIDIA /, '').replace(/(\d)GB/, '$1 GB');
  const gpu = `${name}${name.includes('GB') ? '' : memory}`;
  return fact(id, { family, gpu }, row.checkedOn);
}

function instanceFact(instanceType: string, catalog: Catalog): Belief {
  const family = instanceType.replace(/^ecs\./, '').split(/[-.]/)[0] ?? '';
  const similar = catalog.instances.filter((instance) => instance.family === family).slice(0, SIMILAR_TYPES);
  const types = similar.map((instance) => instance.instanceType).join(', ');
  return fact('type-unknown', { instanceType, types: types === '' ? '–' : types }, '2026-11-30');
}

function closingFact(region: string, { prices }: Catalog): Belief | undefined {
  const { closing } = prices.head;
  if (closing === undefined) return undefined;
  const { source, checkedOn } = closing;
  return { id: 'region-is-closing', believed: '', values: { region }, source, checkedOn };
}

function fact(id: string, values: Belief['values'], checkedOn: string): Belief {
  return { id, believed: '', values, source: CATALOGUE, checkedOn };
}
