import type { Fit, HostAdvice, Recommendation } from '../../advice/recommendation.ts';
import { gibNumber, joined, money, significant } from '../format.ts';
import type { Words } from '../messages/index.ts';
import type { Block } from '../reply.ts';

interface Item {
  readonly label: string;
  readonly value: string;
}

/** The machine around the card: cores, memory, disk, links, and what is short or special about it. */
export function hostBlocks({ recommended, host }: Recommendation, words: Words): readonly Block[] {
  if (recommended === null) return [];
  const title = words.answer.sections.host;
  const items = host === null ? [] : hostItems(host, recommended, words);
  const notes = recommended.notes.map((note) => words.advice.notes[note]);
  return [
    ...(items.length === 0 ? [] : [{ kind: 'facts', level: 'details', title, items } satisfies Block]),
    ...(notes.length === 0
      ? []
      : [{ kind: 'list', level: 'details', title: words.answer.host.notes, items: notes } satisfies Block]),
  ];
}

function hostItems(host: HostAdvice, fit: Fit, words: Words): readonly Item[] {
  const text = words.answer.host;
  return [
    { label: text.cores, value: text.coresValue(significant(host.vcpuPerGpu), String(host.workersPerProcess)) },
    {
      label: text.memory,
      value: text.memoryValue(
        significant(host.hostMemoryGiB),
        gibNumber(host.neededMemoryGiB),
        significant(Math.round(host.ruleMemoryGiB)),
      ),
    },
    { label: text.disk, value: diskText(host, words) },
    ...(fit.zonesWithStock === undefined || fit.zonesWithStock.length === 0
      ? []
      : [{ label: text.zones, value: joined(fit.zonesWithStock, words.locale) }]),
    ...(host.sharedStorage ? [{ label: text.storage, value: text.storageValue }] : []),
    ...(fit.gpus > 1 ? [{ label: text.links, value: linksText(host, words) }] : []),
  ];
}

function diskText({ disk, readMBps }: HostAdvice, words: Words): string {
  const text = words.answer.host;
  const price =
    disk.cnyPerMonth === null ? '' : text.diskPrice(money(Math.round(disk.cnyPerMonth), 'CNY'), disk.checkedOn);
  const read = readMBps === null ? '' : text.read(significant(readMBps));
  return `ESSD ${disk.level} ${disk.sizeGiB} GiB${price}${read}`;
}

function linksText({ nvlink, peerToPeer, erdma }: HostAdvice, words: Words): string {
  const text = words.answer.host;
  const known = [
    nvlink === null ? [] : [nvlink ? text.nvlink : text.noNvlink],
    peerToPeer === false ? [text.noP2p] : [],
    erdma === true ? [text.erdma] : [],
  ].flat();
  return known.length === 0 ? words.answer.none : known.join(' · ');
}
