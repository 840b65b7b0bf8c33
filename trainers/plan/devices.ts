import { createRegistry } from "../../src/core/registry.ts";

/** The specification of a GPU by its maker. Peak rates are those without sparsity. */
export interface DeviceSpec {
  readonly id: string;
  readonly name: string;
  /** Bytes of memory. */
  readonly memory: number;
  /** Bytes per second between the device and its memory. */
  readonly bandwidth: number;
  /** Floating-point operations per second of 16-bit matrix products that are summed in float32. */
  readonly halfFlops: number;
  /** Floating-point operations per second in float32. */
  readonly singleFlops: number;
  /** Bytes per second that one device sends to the others of its machine: half of the two-way figure. */
  readonly link: number;
  /** False for devices that have float16 but no bfloat16. */
  readonly bfloat16: boolean;
  /** The public document with these figures. */
  readonly source: string;
}

const gigabyte = 1e9;
const tera = 1e12;

function device(
  id: string,
  name: string,
  figures: {
    readonly gigabytes: number;
    readonly gigabytesPerSecond: number;
    readonly half: number;
    readonly single: number;
    readonly link: number;
    readonly bfloat16?: boolean;
    readonly source: string;
  },
): DeviceSpec {
  return {
    id,
    name,
    memory: figures.gigabytes * gigabyte,
    bandwidth: figures.gigabytesPerSecond * gigabyte,
    halfFlops: figures.half * tera,
    singleFlops: figures.single * tera,
    link: figures.link * gigabyte,
    bfloat16: figures.bfloat16 ?? true,
    source: figures.source,
  };
}

/** The GPUs that a plan knows, with the figures of their makers' data sheets. */
export const devices = createRegistry("device", [
  device("h100", "NVIDIA H100 SXM 80 GB", {
    gigabytes: 80,
    gigabytesPerSecond: 3350,
    half: 989.4,
    single: 67,
    link: 450,
    source: "NVIDIA H100 Tensor Core GPU data sheet",
  }),
  device("h100-pcie", "NVIDIA H100 PCIe 80 GB", {
    gigabytes: 80,
    gigabytesPerSecond: 2000,
    half: 756,
    single: 51,
    link: 64,
    source: "NVIDIA H100 PCIe product brief (the link is PCIe 5.0)",
  }),
  device("h200", "NVIDIA H200 SXM 141 GB", {
    gigabytes: 141,
    gigabytesPerSecond: 4800,
    half: 989.4,
    single: 67,
    link: 450,
    source: "NVIDIA H200 Tensor Core GPU data sheet",
  }),
  device("b200", "NVIDIA B200 180 GB", {
    gigabytes: 180,
    gigabytesPerSecond: 8000,
    half: 2250,
    single: 75,
    link: 900,
    source: "NVIDIA HGX B200 and DGX B200 data sheets",
  }),
  device("a100", "NVIDIA A100 SXM 80 GB", {
    gigabytes: 80,
    gigabytesPerSecond: 2039,
    half: 312,
    single: 19.5,
    link: 300,
    source: "NVIDIA A100 Tensor Core GPU data sheet",
  }),
  device("a100-40", "NVIDIA A100 SXM 40 GB", {
    gigabytes: 40,
    gigabytesPerSecond: 1555,
    half: 312,
    single: 19.5,
    link: 300,
    source: "NVIDIA A100 Tensor Core GPU data sheet",
  }),
  device("l40s", "NVIDIA L40S 48 GB", {
    gigabytes: 48,
    gigabytesPerSecond: 864,
    half: 362,
    single: 91.6,
    link: 32,
    source: "NVIDIA L40S data sheet (the link is PCIe 4.0)",
  }),
  device("l4", "NVIDIA L4 24 GB", {
    gigabytes: 24,
    gigabytesPerSecond: 300,
    half: 121,
    single: 30.3,
    link: 32,
    source: "NVIDIA L4 data sheet (half of its figure with sparsity; the link is PCIe 4.0)",
  }),
  device("a10", "NVIDIA A10 24 GB", {
    gigabytes: 24,
    gigabytesPerSecond: 600,
    half: 125,
    single: 31.2,
    link: 32,
    source: "NVIDIA A10 data sheet (the link is PCIe 4.0)",
  }),
  device("t4", "NVIDIA T4 16 GB", {
    gigabytes: 16,
    gigabytesPerSecond: 300,
    half: 65,
    single: 8.1,
    link: 16,
    bfloat16: false,
    source: "NVIDIA T4 data sheet (the link is PCIe 3.0)",
  }),
  device("v100", "NVIDIA V100 SXM 32 GB", {
    gigabytes: 32,
    gigabytesPerSecond: 900,
    half: 125,
    single: 15.7,
    link: 150,
    bfloat16: false,
    source: "NVIDIA V100 data sheet",
  }),
  device("rtx-4090", "NVIDIA GeForce RTX 4090 24 GB", {
    gigabytes: 24,
    gigabytesPerSecond: 1008,
    half: 165.2,
    single: 82.6,
    link: 32,
    source: "NVIDIA Ada GPU architecture white paper (the link is PCIe 4.0)",
  }),
  device("mi300x", "AMD Instinct MI300X 192 GB", {
    gigabytes: 192,
    gigabytesPerSecond: 5300,
    half: 1307.4,
    single: 163.4,
    link: 448,
    source: "AMD Instinct MI300X data sheet",
  }),
]);
