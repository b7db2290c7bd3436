"""The presets: settings as their papers print them, and the demo's. Plain data over `TrainConfig`'s defaults.

`noisyagent/*` are tables 5 to 7 of NoisyAgent (arXiv 2605.27209) as printed: the clip ranges, dual clip c and
aggregations there are not those of the methods' own papers, which `gspo` and `grpo` carry. Where the table is
unclear: "batch" normalisation divides rewards centred within their group by their deviation over an optimiser
step's groups, "buffer" over the whole training step's; it is off for `noisyagent/ours`, which has eq. 9 in
its place. "Dynamic temperature scaling" is not done. Of the two batch sizes that NoisyAgent prints we take 16
groups of 32 (table 6). Its "data reuse epochs 2" is two optimiser steps per group. `noisyagent/ours`
trains under the paper's own eight kinds of noise (`noisyagent/all`). `toolrl-dr/*` are RobustBench-TC's two
recipes, `state-augmentation/*` the two initial policies of "Generalization Tax".
"""

from __future__ import annotations

from typing import Any

_TABLE_5: dict[str, Any] = {
    "optimiser": {
        "learning_rate": 1e-6,
        "beta1": 0.9,
        "beta2": 0.95,
        "epsilon": 1e-8,
        "weight_decay": 0.01,
        "clip_norm": 1.0,
        "mini_batches": 1,
        "data_reuse": 2,
    },
    "temperature": 1.0,
    "steps": 100,
    "groups_per_step": 16,
    "group_size": 32,
    "max_sequence": 40_960,
}
_CLEAN_ONLY: dict[str, Any] = {"curriculum": {"kind": "off"}, "advantages": "group"}
_POINT: dict[str, Any] = {"gap_rule": "point"}
"""NoisyAgent's rule, where a curriculum is switched on beside a table without one, too."""
_TABLE_7: dict[str, Any] = {"curriculum": {"kind": "off", "gap": _POINT}, "advantages": "group"}

_OURS: dict[str, Any] = _TABLE_5 | {
    "objective": "gspo",
    "loss": {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0, "aggregation": "rollout"},
    "advantages": "per_arm",
    "whitening": "none",
}
_TOOLRL_DR: dict[str, Any] = {
    # RobustBench-TC, table 16: batch 64 in mini-batches of 32, 4 rollouts, 2,048 + 1,024 tokens, learning
    # rate 1e-6. Clip range and KL coefficient are those of its framework: 0.2, and 1e-3, which isn't printed.
    "objective": "grpo",
    "loss": {"clip_low": 0.2, "clip_high": 0.2, "kl": 0.001, "aggregation": "token"},
    "optimiser": {"learning_rate": 1e-6, "mini_batches": 2},
    "groups_per_step": 64,
    "group_size": 4,
    "max_sequence": 3072,
    "advantages": "group",
    "reward": "toolrl",
    "evaluate_every": 10,
}
_ALL_POINTS: dict[str, Any] = {"success_at": 4.0}
_STATE_AUGMENTATION: dict[str, Any] = {
    # "Generalization Tax", appendix C: groups of 8 for 16 tasks, learning rate 1e-6, KL 0.01, temperature 1,
    # 50 steps. Its clip range isn't printed: GRPO's 0.2.
    "objective": "grpo",
    "loss": {"clip_low": 0.2, "clip_high": 0.2, "kl": 0.01},
    "optimiser": {"learning_rate": 1e-6},
    "groups_per_step": 16,
    "group_size": 8,
    "steps": 50,
    "advantages": "group",
    "reward": "state_augmentation",
}

PRESETS: dict[str, dict[str, Any]] = {
    # Ours, for a million parameters and a few minutes. GSPO's ratio is a mean over a rollout's tokens: at 0.2
    # it never clips, and with two optimiser steps per group at 2e-4 clean success was seen to collapse.
    "demo": {
        "objective": "gspo",
        "loss": {"clip_low": 0.02, "clip_high": 0.02},
        "optimiser": {
            "learning_rate": 1e-4,
            "warmup_steps": 3,
            "weight_decay": 0.0,
            "clip_norm": 1.0,
            "mini_batches": 2,
            "data_reuse": 2,
            # As fast as larger ones on a core, in a third of the memory.
            "token_budget": 1024,
        },
        "curriculum": {
            "kind": "gap",
            "profile": "noisyagent",
            # A step has some ten noisy rollouts of a type: the upper bound of Δ is wide, and θ with it.
            # Levels and ρ begin where tools' noise is learnt from at once; ρ comes to its cap late.
            "gap": {
                "theta": 0.25,
                "decay": 0.7,
                "minimum_rollouts": 12,
                "rho_start": 0.4,
                "rho_step": 0.02,
                "share_step": 0.005,
                "start_level": 3,
                "warmup_steps": 0,
                "plateau_window": 2,
            },
        },
        "steps": 15,
        "groups_per_step": 8,
        "group_size": 16,
        "staleness": 2,
        "poll_seconds": 0.05,
        "max_sequence": 1024,
    },
    # Zheng et al. 2025: eq. 5 to 7; clip 3e-4 and 4e-4 and four mini-batches (§5.1); no KL term. The learning
    # rate isn't printed.
    "gspo": _CLEAN_ONLY
    | {
        "objective": "gspo",
        "loss": {"clip_low": 3e-4, "clip_high": 4e-4},
        "optimiser": {"learning_rate": 1e-6, "mini_batches": 4},
    },
    # Shao et al. 2024 (DeepSeekMath): eq. 3 and 4, KL 0.04, learning rate 1e-6, 64 rollouts a question, 1,024
    # a step, one update (§4.2). Its ε isn't printed: PPO's 0.2.
    "grpo": _CLEAN_ONLY
    | {
        "objective": "grpo",
        "loss": {"clip_low": 0.2, "clip_high": 0.2, "kl": 0.04},
        "optimiser": {"learning_rate": 1e-6},
        "groups_per_step": 16,
        "group_size": 64,
    },
    # Yu et al. 2025 (DAPO): eq. 8 to 11; clip 0.2 and 0.28, token mean, no KL term, dynamic sampling, 512
    # prompts of 16 rollouts in 16 mini-batches, learning rate 1e-6 over 20 steps of warm-up (§4.1). Its
    # overlong punishment (eq. 13) is a part of the reward, which the environment gives.
    "dapo": _CLEAN_ONLY
    | {
        "objective": "dapo",
        "loss": {"clip_low": 0.2, "clip_high": 0.28, "aggregation": "token"},
        "optimiser": {"learning_rate": 1e-6, "warmup_steps": 20, "mini_batches": 16},
        "groups_per_step": 512,
        "group_size": 16,
        "refill": "groups",
    },
    # Ahmadian et al. 2024 (RLOO, eq. 8): each rollout against the mean of the others; no ratio, no clip.
    "reinforce": _CLEAN_ONLY
    | {
        "objective": "reinforce",
        "baseline": "leave_one_out",
        "optimiser": {"learning_rate": 1e-6},
        "groups_per_step": 16,
        "group_size": 8,
    },
    # Ours, for sessions of live traffic that are in no group.
    "live": {
        "curriculum": {"kind": "off"},
        "objective": "reinforce",
        "advantages": "per_arm",
        "baseline": "running",
        "train_on": "sessions",
        "optimiser": {"learning_rate": 1e-6},
        "groups_per_step": 64,
    },
    "noisyagent/grpo": _TABLE_5
    | _TABLE_7
    | {
        "objective": "grpo",
        "loss": {"clip_low": 0.2, "clip_high": 0.2, "dual_clip": 10.0, "aggregation": "token"},
        "whitening": "batch",
    },
    "noisyagent/dapo": _TABLE_5
    | _TABLE_7
    | {
        "objective": "dapo",
        "loss": {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0, "aggregation": "rollout"},
        "whitening": "buffer",
    },
    "noisyagent/gspo": _TABLE_5
    | _TABLE_7
    | {
        "objective": "gspo",
        "loss": {"clip_low": 0.2, "clip_high": 0.28, "dual_clip": 3.0, "aggregation": "rollout"},
        "whitening": "buffer",
    },
    "noisyagent/ours": _OURS | {"curriculum": {"kind": "gap", "profile": "noisyagent/all", "gap": _POINT}},
    # NoisyAgent's ablations (§4.3). Which level, and which share, noise without scheduling has isn't printed:
    # the middle of ours, and the cap.
    "noisyagent/without-scheduling": _OURS
    | {
        "curriculum": {
            "kind": "fixed",
            "profile": "noisyagent/all",
            "gap": _POINT,
            "fixed": {"level": 3, "rho": 0.5},
        }
    },
    "noisyagent/without-noise": _OURS | {"curriculum": {"kind": "off", "gap": _POINT}},
    "noisyagent/without-controlled": _OURS
    | {
        "curriculum": {
            "kind": "fixed",
            "profile": "noisyagent/all",
            "gap": _POINT,
            "fixed": {"level": 3, "rho": 1.0},
        }
    },
    "toolrl-dr/full": _TOOLRL_DR
    | {"curriculum": {"kind": "randomised", "profile": "toolrl-dr/full", "gap": _ALL_POINTS}},
    "toolrl-dr/mixed": _TOOLRL_DR
    | {
        "curriculum": {
            "kind": "randomised",
            "profile": "toolrl-dr/full",
            "group_share": 0.5,
            "gap": _ALL_POINTS,
        }
    },
    "state-augmentation/v1": _STATE_AUGMENTATION
    | {"curriculum": {"kind": "coin", "profile": "state-augmentation/v1"}},
    # The profile has the coin of a half, with its own ε.
    "state-augmentation/v2": _STATE_AUGMENTATION
    | {"curriculum": {"kind": "coin", "profile": "state-augmentation/v2"}},
}
