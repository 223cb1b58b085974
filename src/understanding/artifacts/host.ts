/** Host memory ran out, not the card's: the kernel's killer, shared memory of loader workers, numpy and plain malloc. */
const HOST =
  /dataloader worker \(pid[^)\n]{0,24}\) (?:is killed|exited)|killed by signal: (?:killed|bus error)|\bbus error\b|oom[- ]?kill|out of memory: killed process|insufficient shared memory|unable to (?:mmap|open shared memory)|\/dev\/shm|\bshm\b[^\n]{0,30}(?:full|insufficient|too small|不足|不够)|cannot allocate memory|std::bad_alloc|numpy\.core\._exceptions\.(?:_array)?memoryerror|unable to allocate [\d.]+ ?[kmgt]i?b for an array|\bmemoryerror\b|exit(?:ed with)? code:? ?(?:137|-9)\b|(?:^|\n)\s*killed\s*(?:$|\n)|defaultcpuallocator|cpuallocator: not enough memory/;
const HOST_WORDS =
  /(?:主机|系统|物理|服务器|机器)内存\s?(?:不够|不足|爆|满|溢出|打满)|内存(?:被)?(?:打满|爆了|爆满|占满|溢出)|\b(?:host|system|cpu) (?:ram|memory) (?:is )?(?:full|exhausted|runs? out|ran out)|(?:进程|训练|程序|脚本)(?:直接|就|又|老|总)?被 ?(?:系统 ?)?(?:kill|杀)|killed$/;
/** Beside the card's memory, "内存" can only be the host's. */
const BOTH_NAMED = /(?<!显)内存 ?(?:\d{1,4} ?gb? ?)?(?:也|都|就|直接|被)?(?:打满|爆|占满|吃满|用满|用完|溢出)/;
const CARD_FAILED = /cuda out of memory|outofmemoryerror|显存(?:也|都|就|直接)?(?:不够|不足|爆|炸|满|溢出)/;
const CARD = /cuda out of memory|outofmemoryerror|显存|vram|gpu memory/;

/** The rest of its sentence holds figures of arrays and processes. */
export const HOST_LINES =
  /(?:unable to allocate|out of memory: killed|killed process|oom[- ]?kill|dataloader worker|bus error|cannot allocate memory|defaultcpuallocator)(?:[^\n.;]|[.;](?=\S)){0,300}/g;

/** A pasted failure of host memory. */
export function isHostOom(text: string): boolean {
  return HOST.test(text) && !/cuda out of memory|outofmemoryerror: cuda/.test(text);
}

/** Host memory told in words. */
export function tellsHostOom(text: string): boolean {
  return CARD.test(text)
    ? BOTH_NAMED.test(text) && !CARD_FAILED.test(text)
    : HOST_WORDS.test(text) || BOTH_NAMED.test(text);
}
