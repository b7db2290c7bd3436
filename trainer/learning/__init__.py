"""The policy under training, its adapters and the optimiser steps."""
